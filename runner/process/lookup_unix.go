//go:build unix

package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lookUp finds the program of a command, as a shell in dir does: a name with a slash is
// relative to dir, any other is searched for in path.
func lookUp(name, path, dir string) (string, *startFailure) {
	if strings.Contains(name, "/") {
		return absolute(name, dir), nil
	}
	var denied string
	for _, folder := range filepath.SplitList(path) {
		file := absolute(filepath.Join(folder, name), dir)
		if isProgram(file) {
			return file, nil
		}
		var stat syscall.Stat_t
		if syscall.Stat(file, &stat) != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
			continue
		}
		if denied == "" {
			denied = file
		}
	}
	if denied != "" {
		return "", notExecutable("%s: permission denied: it is not marked as executable", denied)
	}
	if near := didYouMean(name, path, dir); near != "" {
		return "", notFound("%s: not found in PATH%s", name, near)
	}
	return "", notFound("%s: not found in PATH (%s)", name, path)
}

// isProgram reports whether a file is executable.
func isProgram(file string) bool {
	var stat syscall.Stat_t
	return syscall.Stat(file, &stat) == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFREG && unix.Access(file, unix.X_OK) == nil
}

func absolute(file, dir string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// explainStart returns the reason why the system did not start a file in dir. It returns
// nil for a reason that is not the task's fault: no memory, no more processes or
// descriptors.
func explainStart(cause error, file, dir string) *startFailure {
	var errno syscall.Errno
	if !errors.As(cause, &errno) {
		return nil
	}
	switch errno {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR:
		return nil
	}
	if failure := explainDir(dir); failure != nil {
		return failure
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		if _, err := os.Stat(file); err == nil {
			return notExecutable("%s: the interpreter it names does not exist", file)
		}
		return notFound("%s: %s%s", file, errno, didYouMean(file, "", dir))
	case syscall.ENOEXEC:
		return notExecutable("%s: %s (a script needs a first line such as #!/bin/sh)", file, errno)
	case syscall.ETXTBSY:
		return notExecutable("%s: %s: something has it open for writing", file, errno)
	default:
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return notExecutable("%s: it is a directory", file)
		}
		return notExecutable("%s: %s", file, errno)
	}
}

// explainDir returns the problem with a working directory, or nil.
func explainDir(dir string) *startFailure {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return notExecutable("the working directory %s does not exist", dir)
	case err != nil:
		return notExecutable("the working directory: %s", err)
	case !info.IsDir():
		return notExecutable("the working directory %s is not a directory", dir)
	case unix.Access(dir, unix.X_OK) != nil:
		return notExecutable("the working directory %s: permission denied", dir)
	default:
		return nil
	}
}
