package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
)

// maxInput bounds the files that are read whole, in bytes: pipelines, variables, plans and
// configurations. A larger file can't be meant.
const maxInput = 64 << 20

// ReadFile reads a whole file. It refuses anything else, such as a pipe or a device,
// for which the command could wait for ever, and a file larger than maxInput, which could
// take all memory. It accepts a pipe that the shell opened for the command, as for `-f
// <(generate)`, and reads it to its end.
func ReadFile(path string) (data []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() && !isOpenPipe(path, info):
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxInput:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxInput>>20)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxInput>>20)
	}
	return data, err
}

// isOpenPipe reports whether a path names a pipe by the number of a descriptor that this
// process inherited.
func isOpenPipe(path string, info fs.FileInfo) bool {
	return info.Mode().Type() == fs.ModeNamedPipe && advice.IsDescriptor(path)
}
