package disk

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
	JSONExt = ".json"
	ZstExt  = ".zst" // follows JSONExt if the file is compressed
	// MaxCheckpoint bounds the size of a checkpoint after decompression, so that a small
	// file can't fill the memory.
	MaxCheckpoint = 256 << 20
)

// CheckpointDir reads and writes the checkpoint files of a session. A file is named
// CP-….json, or CP-….json.zst if Compress was on when it was written. Both forms are
// read, whatever Compress is now.
//
// A checkpoint may have two files: an import wrote the other form, or a crash came before
// the second file was removed. The valid one counts.
type CheckpointDir struct {
	FS       store.FS
	Path     string
	Compress bool
	Zstd     *Compressor
}

// CheckpointsIn returns the checkpoint files of the session in dir.
func (l *Layout) CheckpointsIn(dir string) CheckpointDir {
	return CheckpointDir{FS: l.FS, Path: filepath.Join(dir, CheckpointsDir), Compress: l.Compress, Zstd: l.Zstd}
}

// pathOf returns the path of a file in the directory. It refuses names that lead out of the
// directory, since a damaged journal can hold any id.
func (d CheckpointDir) pathOf(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`+"\x00") {
		return "", fmt.Errorf("%q cannot be the name of a checkpoint's file", name)
	}
	return filepath.Join(d.Path, name), nil
}

// List returns the names of the files in the directory, sorted and without
// temporary files. A directory that does not exist has none.
func (d CheckpointDir) List() ([]string, error) {
	entries, err := d.FS.ReadDir(d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", d.Path, err)
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
func (d CheckpointDir) removeFile(name string) error {
	path, err := d.pathOf(name)
	if err != nil {
		return err
	}
	if err := d.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// FileNames returns the names that the file of a checkpoint can have.
func FileNames(id string) [2]string { return [2]string{id + JSONExt, id + JSONExt + ZstExt} }

// CheckpointOf returns the id of the checkpoint whose file has this name; false for other
// files, which are not read or removed.
func CheckpointOf(name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(strings.TrimSuffix(name, ZstExt), JSONExt)
	return id, ok && IsCheckpointID(id)
}

// CheckpointMember returns the name of a checkpoint's file in an export. It is never
// compressed there, so that the same state gives the same archive.
func CheckpointMember(id string) string { return CheckpointsDir + "/" + id + JSONExt }

// CheckpointOfMember returns the id of the checkpoint whose file a member of an export is.
func CheckpointOfMember(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, CheckpointsDir+"/")
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, JSONExt)
	return id, ok && IsCheckpointID(id)
}

// StoredCheckpoint is the content of a checkpoint's file.
type StoredCheckpoint struct {
	Path string
	JSON []byte
	Bad  error // why JSON could not be decompressed
}

// Decode decodes the checkpoint. Its errors are about the content; errors of reading the
// file are those of Read.
func (c *StoredCheckpoint) Decode() (*CheckpointFile, error) {
	if c.Bad != nil {
		return nil, c.Bad
	}
	return DecodeCheckpoint(c.Path, c.JSON)
}

// Read returns the content of a checkpoint's file, valid or not. A missing file is
// fs.ErrNotExist.
func (d CheckpointDir) Read(id string) (*StoredCheckpoint, error) {
	var found *StoredCheckpoint
	failed := fs.ErrNotExist
	for _, name := range FileNames(id) {
		c, err := d.readNamed(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			failed = err
			continue
		}
		if _, err := state.Unseal(c.JSON); err == nil {
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

func (d CheckpointDir) readNamed(name string) (*StoredCheckpoint, error) {
	path, err := d.pathOf(name)
	if err != nil {
		return nil, err
	}
	data, err := store.ReadFile(d.FS, path)
	if err != nil {
		return nil, err
	}
	c := &StoredCheckpoint{Path: path, JSON: data}
	if strings.HasSuffix(name, ZstExt) {
		c.JSON, c.Bad = d.Zstd.Unpack(data)
	}
	return c, nil
}

// EncodedCheckpoint is a checkpoint that is ready to be written.
type EncodedCheckpoint struct {
	ID   string
	JSON [][]byte // in consecutive parts
}

// Size returns the bytes of the checkpoint before compression.
func (c EncodedCheckpoint) Size() int { return store.Entry{Data: c.JSON}.Size() }

// Put writes the files of checkpoints, durably and together. Existing files are left as
// they are. A failed write is a *store.WriteError.
func (d CheckpointDir) Put(checkpoints ...EncodedCheckpoint) error {
	names, err := d.Prepare(checkpoints...)
	if err != nil {
		return err
	}
	return store.Write(d.FS, names...)
}

// Prepare returns the files that Put writes, and creates their directory.
func (d CheckpointDir) Prepare(checkpoints ...EncodedCheckpoint) ([]store.Entry, error) {
	names, err := d.missing(checkpoints)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if err := store.MkdirAll(d.FS, d.Path); err != nil {
		return nil, &store.WriteError{Path: names[0].Path, Err: err}
	}
	return names, nil
}

// missing returns the files that do not exist yet. If some exist it syncs the directory,
// so that their names are durable.
func (d CheckpointDir) missing(checkpoints []EncodedCheckpoint) ([]store.Entry, error) {
	var names []store.Entry
	there := ""
	for _, c := range checkpoints {
		paths, err := d.Paths(c.ID)
		if err != nil {
			return nil, &store.WriteError{Path: filepath.Join(d.Path, d.newName(c.ID)), Err: err}
		}
		if len(paths) > 0 {
			there = paths[0]
			continue
		}
		name := d.newName(c.ID)
		if c.Size() > MaxCheckpoint { // decompression would refuse it
			name = FileNames(c.ID)[0]
		}
		path, err := d.pathOf(name)
		if err != nil {
			return nil, err
		}
		data, err := d.encode(name, c.JSON...)
		if err != nil {
			return nil, &store.WriteError{Path: path, Err: err}
		}
		names = append(names, store.Entry{Path: path, Data: data, New: true})
	}
	if there != "" {
		if err := d.FS.SyncDir(d.Path); err != nil {
			return nil, &store.WriteError{Path: there, Err: err}
		}
	}
	return names, nil
}

// newName returns the name of a new checkpoint file.
func (d CheckpointDir) newName(id string) string {
	if d.Compress {
		return FileNames(id)[1]
	}
	return FileNames(id)[0]
}

// encode returns the bytes of the file with this name, in parts.
func (d CheckpointDir) encode(name string, json ...[]byte) ([][]byte, error) {
	if !strings.HasSuffix(name, ZstExt) {
		return json, nil
	}
	packed, err := d.Zstd.Pack(bytes.Join(json, nil))
	return [][]byte{packed}, err
}

// Replace rewrites the file that c was read from, in the same form.
func (d CheckpointDir) Replace(c *StoredCheckpoint, json ...[]byte) error {
	data, err := d.encode(c.Path, json...)
	if err != nil {
		return err
	}
	return store.WriteFile(d.FS, c.Path, data...)
}

// Remove removes the file of a checkpoint. A missing file is no error.
func (d CheckpointDir) Remove(id string) error {
	for _, name := range FileNames(id) {
		if err := d.removeFile(name); err != nil {
			return err
		}
	}
	return nil
}

// RemoveMany is the number of checkpoints from which it is faster to list the directory
// first: each checkpoint has one of two names, and removing a missing file takes half as
// long as removing one.
const RemoveMany = 16

// Remover returns a function that removes the file of a checkpoint, as Remove does,
// prepared for so many calls.
func (d CheckpointDir) Remover(many int) (func(id string) error, error) {
	if many < RemoveMany {
		return d.Remove, nil
	}
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	return func(id string) error {
		for _, name := range FileNames(id) {
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

// Paths returns the one or two files of a checkpoint.
func (d CheckpointDir) Paths(id string) ([]string, error) {
	var found []string
	for _, name := range FileNames(id) {
		path := filepath.Join(d.Path, name)
		switch _, err := d.FS.Lstat(path); {
		case err == nil:
			found = append(found, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for checkpoint %s: %w", id, err)
		}
	}
	return found, nil
}

// locate returns the path of a checkpoint's file, or where a new one would be.
func (d CheckpointDir) locate(id string) (string, error) {
	found, err := d.Paths(id)
	if len(found) > 0 {
		return found[0], nil
	}
	return filepath.Join(d.Path, d.newName(id)), err
}

// FilePath is locate for messages. If the directory can't be read it returns where a new
// file would be.
func (d CheckpointDir) FilePath(id string) string {
	path, _ := d.locate(id)
	return path
}

// IDs returns the checkpoints that have a file, sorted.
func (d CheckpointDir) IDs() ([]string, error) {
	names, err := d.List()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if id, ok := CheckpointOf(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// RemoveDuplicates removes the second file of each checkpoint that has two. If neither is
// valid both stay, for people and for rebuilding.
func (d CheckpointDir) RemoveDuplicates() error {
	names, err := d.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ok := CheckpointOf(name)
		plain, packed := FileNames(id)[0], FileNames(id)[1]
		if _, twin := slices.BinarySearch(names, plain); !ok || name != packed || !twin {
			continue
		}
		valid, err := d.Read(id)
		if err != nil {
			return err
		}
		if _, err := valid.Decode(); err != nil {
			continue
		}
		other := plain
		if filepath.Base(valid.Path) == plain {
			other = packed
		}
		if err := d.removeFile(other); err != nil {
			return err
		}
	}
	return nil
}
