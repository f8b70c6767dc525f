package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"prdrunner/checkpoint/workspace"
)

// maxInput bounds the files that are read whole: pipelines, variables, plans and
// configurations. Anything larger is something else.
const maxInput = 64 << 20

// readRegular reads a file whole. What is no file, such as a pipe or a device,
// could keep a command waiting for ever, and a large one take all memory.
func readRegular(path string) (data []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
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
