package runner_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/process"
)

// countFiles is a file system that counts fsyncs and the bytes that are written.
type countFiles struct {
	store.FS
	took         time.Duration // added to each fsync
	bytes, syncs atomic.Int64
}

func (c *countFiles) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &countedFile{File: f, c: c}, nil
}

func (c *countFiles) SyncDir(name string) error {
	c.synced()
	return c.FS.SyncDir(name)
}

func (c *countFiles) synced() {
	c.syncs.Add(1)
	time.Sleep(c.took)
}

type countedFile struct {
	store.File
	c *countFiles
}

func (f *countedFile) Write(p []byte) (int, error) {
	f.c.bytes.Add(int64(len(p)))
	return f.File.Write(p)
}

func (f *countedFile) Sync() error {
	f.c.synced()
	return f.File.Sync()
}

// BenchmarkBoundary runs pipelines of 100 to 10,000 no-op workstreams, two at a time. The
// cost per workstream must not grow with the number of workstreams.
func BenchmarkBoundary(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				runNoOps(b, n)
			}
		})
	}
}

func runNoOps(b *testing.B, n int) {
	b.StopTimer()
	dir := b.TempDir()
	fsys := &countFiles{FS: store.OS()}
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{FS: fsys})
	if err != nil {
		b.Fatal(err)
	}
	src := fmt.Sprintf(`pipeline "PRD-001" {
  title = "No-ops"
  phase "all" {
    workstream "w" {
      for_each = toset([for i in range(%d) : tostring(i)])
      command  = ["true"]
    }
  }
}`, n)
	file, diags := pipeline.Parse([]byte(src), "PRD-001.hcl")
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: dir})
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	exec, err := process.New(process.Options{BaseEnv: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	session, err := s.Lock(context.Background(), "PRD-001", state.Actor{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := runner.Build(context.Background(), runner.Options{
		Pipeline: p, Store: s, Session: session, Executor: exec, Workspace: dir, Parallel: 2,
	})
	if err != nil || e.Status != state.StatusComplete {
		b.Fatal(e, err)
	}
	if err := session.Close(); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := exec.Close(); err != nil {
		b.Fatal(err)
	}
	per := float64(n)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/per/float64(max(b.N, 1)), "µs/workstream")
	b.ReportMetric(float64(fsys.bytes.Load())/per, "B/workstream")
	b.ReportMetric(float64(fsys.syncs.Load())/per, "fsyncs/workstream")
	b.StartTimer()
}
