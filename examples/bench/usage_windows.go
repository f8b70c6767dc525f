package main

import "os"

// settle does nothing: only an administrator can have the system write what it has put off.
func settle() {}

// peakMemory is 0: the system does not tell it of a process that has ended.
func peakMemory(*os.ProcessState) int64 { return 0 }

// written is not known here.
func written(*os.ProcessState) int64 { return 0 }
