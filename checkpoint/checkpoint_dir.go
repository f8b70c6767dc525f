package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

const (
	jsonExt = ".json"
	zstExt  = ".zst" // behind the other, where the file is compressed
	// maxCheckpoint bounds what is unpacked of a checkpoint's file, so that a
	// small one cannot fill the memory.
	maxCheckpoint = 256 << 20
)

// checkpointDir holds the files of a session's checkpoints. Their names are
// made and taken apart here alone: CP-….json, or CP-….json.zst where Compress
// was on when it was written. Either is read whatever Compress says now.
//
// A checkpoint has two files where an import met one of the other form, or a
// crash came before the second was removed. The valid one counts.
type checkpointDir struct {
	fs       store.FS
	dir      string
	compress bool
	zstd     *compressor
}

// checkpointsIn returns the files of the session in a directory.
func (s *Store) checkpointsIn(dir string) checkpointDir {
	return checkpointDir{fs: s.fs, dir: filepath.Join(dir, checkpointsDir), compress: s.o.Policy.Compress, zstd: s.zstd}
}

// file returns the path of a file in the directory. It refuses a name that would
// lead out of the directory: a damaged journal can hold any id.
func (d checkpointDir) file(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`+"\x00") {
		return "", fmt.Errorf("%q cannot be the name of a checkpoint's file", name)
	}
	return filepath.Join(d.dir, name), nil
}

// list returns the names of the files in the directory, sorted and without
// temporary files. A directory that does not exist has none.
func (d checkpointDir) list() ([]string, error) {
	entries, err := d.fs.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", d.dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !store.IsTemp(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// removeFile removes a file by its name. A missing file is no error.
func (d checkpointDir) removeFile(name string) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	if err := d.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// fileNames are the names that the file of a checkpoint can have.
func fileNames(id string) [2]string { return [2]string{id + jsonExt, id + jsonExt + zstExt} }

// checkpointOf returns the checkpoint that a file is of by its name. What is of
// none is not ours to read or remove.
func checkpointOf(name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(strings.TrimSuffix(name, zstExt), jsonExt)
	return id, ok && isCheckpointID(id)
}

// checkpointMember is the name of a checkpoint's file in an export, where it is
// never compressed: the same state gives the same archive.
func checkpointMember(id string) string { return checkpointsDir + "/" + id + jsonExt }

// checkpointOfMember returns the checkpoint that a member of an export is the
// file of.
func checkpointOfMember(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, checkpointsDir+"/")
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, jsonExt)
	return id, ok && isCheckpointID(id)
}

// storedCheckpoint is what the file of a checkpoint holds.
type storedCheckpoint struct {
	path string
	json []byte
	bad  error // why there is none
}

// decode reads it. What is wrong with it is no error of reading the file.
func (c *storedCheckpoint) decode() (*CheckpointFile, error) {
	if c.bad != nil {
		return nil, c.bad
	}
	return decodeCheckpoint(c.path, c.json)
}

// read returns what the file of a checkpoint holds, valid or not, or
// fs.ErrNotExist.
func (d checkpointDir) read(id string) (*storedCheckpoint, error) {
	var found *storedCheckpoint
	failed := fs.ErrNotExist
	for _, name := range fileNames(id) {
		c, err := d.readNamed(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			failed = err
			continue
		}
		if _, err := state.Unseal(c.json); err == nil {
			return c, nil
		}
		if found == nil {
			found = c
		}
	}
	if found == nil || !errors.Is(failed, fs.ErrNotExist) {
		return nil, fmt.Errorf("read checkpoint %s: %w", id, failed)
	}
	return found, nil
}

func (d checkpointDir) readNamed(name string) (*storedCheckpoint, error) {
	path, err := d.file(name)
	if err != nil {
		return nil, err
	}
	data, err := store.ReadFile(d.fs, path)
	if err != nil {
		return nil, err
	}
	c := &storedCheckpoint{path: path, json: data}
	if strings.HasSuffix(name, zstExt) {
		c.json, c.bad = d.zstd.unpack(data)
	}
	return c, nil
}

// newCheckpoint is what the file of a checkpoint is to hold.
type newCheckpoint struct {
	id   string
	json [][]byte // in parts that follow one another
}

func (c newCheckpoint) size() int { return store.Name{Data: c.json}.Size() }

// put writes the files of checkpoints, which become durable together. One that is there
// stays as it is. It is a *store.WriteError that one can't be written.
func (d checkpointDir) put(checkpoints ...newCheckpoint) error {
	names, err := d.names(checkpoints...)
	if err != nil {
		return err
	}
	return store.Write(d.fs, names...)
}

// names returns the files that put writes, and makes their directory.
func (d checkpointDir) names(checkpoints ...newCheckpoint) ([]store.Name, error) {
	names, err := d.missing(checkpoints)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if err := store.MkdirAll(d.fs, d.dir); err != nil {
		return nil, &store.WriteError{Path: names[0].Path, Err: err}
	}
	return names, nil
}

// missing returns the files that do not exist yet. It syncs the directory if
// others do, so that their names are durable.
func (d checkpointDir) missing(checkpoints []newCheckpoint) ([]store.Name, error) {
	var names []store.Name
	there := ""
	for _, c := range checkpoints {
		paths, err := d.paths(c.id)
		if err != nil {
			return nil, &store.WriteError{Path: filepath.Join(d.dir, d.newName(c.id)), Err: err}
		}
		if len(paths) > 0 {
			there = paths[0]
			continue
		}
		name := d.newName(c.id)
		if c.size() > maxCheckpoint { // too long to be unpacked again
			name = fileNames(c.id)[0]
		}
		path, err := d.file(name)
		if err != nil {
			return nil, err
		}
		data, err := d.encode(name, c.json...)
		if err != nil {
			return nil, &store.WriteError{Path: path, Err: err}
		}
		names = append(names, store.Name{Path: path, Data: data, New: true})
	}
	if there != "" {
		if err := d.fs.SyncDir(d.dir); err != nil {
			return nil, &store.WriteError{Path: there, Err: err}
		}
	}
	return names, nil
}

// newName is the name that a checkpoint's file is given now.
func (d checkpointDir) newName(id string) string {
	if d.compress {
		return fileNames(id)[1]
	}
	return fileNames(id)[0]
}

// encode returns the bytes of a file with a name, in parts as they are given.
func (d checkpointDir) encode(name string, json ...[]byte) ([][]byte, error) {
	if !strings.HasSuffix(name, zstExt) {
		return json, nil
	}
	packed, err := d.zstd.pack(bytes.Join(json, nil))
	return [][]byte{packed}, err
}

// replace writes other bytes in place of those that were read, in the same form.
func (d checkpointDir) replace(c *storedCheckpoint, json ...[]byte) error {
	data, err := d.encode(c.path, json...)
	if err != nil {
		return err
	}
	return store.WriteFile(d.fs, c.path, data...)
}

// remove removes the file of a checkpoint. One that is not there is no error.
func (d checkpointDir) remove(id string) error {
	for _, name := range fileNames(id) {
		if err := d.removeFile(name); err != nil {
			return err
		}
	}
	return nil
}

// removeMany is from how many files on it is faster to look first which names there
// are: each file has one name of two, and to remove what is not there takes half as
// long as to remove what is.
const removeMany = 16

// remover returns what removes so many files one by one, as remove does.
func (d checkpointDir) remover(many int) (func(id string) error, error) {
	if many < removeMany {
		return d.remove, nil
	}
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	return func(id string) error {
		for _, name := range fileNames(id) {
			if _, there := slices.BinarySearch(names, name); !there {
				continue
			}
			if err := d.removeFile(name); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// paths returns where the file of a checkpoint is; two, where there are two.
func (d checkpointDir) paths(id string) ([]string, error) {
	var found []string
	for _, name := range fileNames(id) {
		path := filepath.Join(d.dir, name)
		switch _, err := d.fs.Lstat(path); {
		case err == nil:
			found = append(found, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for checkpoint %s: %w", id, err)
		}
	}
	return found, nil
}

// locate returns where the file of a checkpoint is, or would be.
func (d checkpointDir) locate(id string) (string, error) {
	found, err := d.paths(id)
	if len(found) > 0 {
		return found[0], nil
	}
	return filepath.Join(d.dir, d.newName(id)), err
}

// path is locate for people: where the file cannot be looked for, it would be
// where a new one is written.
func (d checkpointDir) path(id string) string {
	path, _ := d.locate(id)
	return path
}

// ids returns the checkpoints that have a file, sorted.
func (d checkpointDir) ids() ([]string, error) {
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if id, ok := checkpointOf(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// settle removes the second file of each checkpoint that has two. Where none of
// them is valid, both stay, for people and for rebuilding.
func (d checkpointDir) settle() error {
	names, err := d.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ok := checkpointOf(name)
		plain, packed := fileNames(id)[0], fileNames(id)[1]
		if _, twin := slices.BinarySearch(names, plain); !ok || name != packed || !twin {
			continue
		}
		valid, err := d.read(id)
		if err != nil {
			return err
		}
		if _, err := valid.decode(); err != nil {
			continue
		}
		other := plain
		if filepath.Base(valid.path) == plain {
			other = packed
		}
		if err := d.removeFile(other); err != nil {
			return err
		}
	}
	return nil
}
