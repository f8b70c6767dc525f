package main

import "os"

// inForeground returns true: on Windows, no console stops a process that reads from it.
func inForeground(*os.File) bool { return true }
