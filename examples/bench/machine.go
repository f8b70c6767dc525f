package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine says where and when the contests were held, and with which versions of the
// tools.
type machine struct {
	Date     string            `json:"date"`
	Commit   string            `json:"commit,omitempty"` // the commit of Runner, with "-dirty" if files were changed since
	System   string            `json:"system"`
	CPUs     int               `json:"cpus"`
	Model    string            `json:"model,omitempty"` // the model of the CPUs
	Files    string            `json:"files,omitempty"` // the kind of file system that the contests wrote to
	Go       string            `json:"go"`
	Versions map[string]string `json:"versions"` // of the installed tools, by command
}

func thisMachine(work string) machine {
	m := machine{
		Date: time.Now().Format(time.DateOnly), System: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), Go: runtime.Version(), Versions: map[string]string{},
	}
	if commit := lines(exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()); len(commit) > 0 {
		m.Commit = commit[0]
	}
	for _, line := range lines(os.ReadFile("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.Model = strings.TrimSpace(value)
			break
		}
	}
	if kind := lines(exec.Command("df", "--output=fstype", work).Output()); len(kind) > 1 {
		m.Files = kind[1] // the first line is a heading
	}
	for _, peer := range []string{"make", "ninja", "task", "snakemake", "restic", "git"} {
		version := "--version"
		if peer == "restic" {
			version = "version"
		}
		if shown := lines(exec.Command(peer, version).Output()); len(shown) > 0 {
			m.Versions[peer] = shown[0]
		}
	}
	return m
}

// lines returns the lines of data, nil if there was an error.
func lines(data []byte, err error) []string {
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %s, %d CPUs (%s), %s, %s", m.Date, m.System, m.CPUs, m.Model, m.Files, m.Go)
}
