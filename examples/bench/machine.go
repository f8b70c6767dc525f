package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is where and when a race was held, and who took part.
type machine struct {
	Date     string            `json:"date"`
	Commit   string            `json:"commit,omitempty"` // of what was raced; with "-dirty" where it was changed since
	System   string            `json:"system"`
	CPUs     int               `json:"cpus"`
	Model    string            `json:"model,omitempty"` // of the CPUs
	Files    string            `json:"files,omitempty"` // kind of file system that was written to
	Go       string            `json:"go"`
	Versions map[string]string `json:"versions"` // of the peers that are installed
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
		m.Files = kind[1] // below its heading
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

// lines are those of what could be read; nothing where it could not.
func lines(data []byte, err error) []string {
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %s, %d CPUs (%s), %s, %s", m.Date, m.System, m.CPUs, m.Model, m.Files, m.Go)
}
