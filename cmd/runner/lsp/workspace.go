package lsp

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/pipeline"
)

// workspace is the workspace of a document.
type workspace struct {
	env  *cli.Environment
	cfg  *config.Config
	open map[string]*document // by path in the workspace
}

// workspaceOf returns the workspace of a document.
func (s *server) workspaceOf(d *document) (w workspace, err error) {
	w = workspace{env: s.env.BesideFile(d.path, io.Discard), open: map[string]*document{}}
	if w.cfg, err = w.env.LoadConfig(); err != nil {
		return w, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.documents {
		if name := w.env.InWorkspace(open.path); name != "" {
			w.open[name] = open
		}
	}
	return w, nil
}

// unsaved returns the contents of the open documents, by path in the workspace.
func (w workspace) unsaved() map[string][]byte {
	unsaved := map[string][]byte{}
	for name, d := range w.open {
		unsaved[name] = []byte(d.text.source)
	}
	return unsaved
}

// isPipeline reports whether a document is a pipeline, and not a file that pipelines include.
func (d *document) isPipeline(w workspace) bool {
	id, _ := strings.CutSuffix(filepath.Base(d.path), config.PipelineExtension)
	return w.cfg.IDPattern.MatchString(id) || len(d.outline().declared("pipeline")) > 0
}

// pipelinesWith returns the pipelines of which a document is a part: itself, or those that include it.
func (w workspace) pipelinesWith(d *document) []*source {
	if d.isPipeline(w) {
		return []*source{d.source}
	}
	var with []*source
	found, _ := load.FindPipelines(w.env, w.cfg) // without any, the document is part of none
	for _, p := range found {
		s := w.read(p.Path)
		if s != nil && slices.ContainsFunc(w.included(s), func(other *source) bool { return other.path == d.path }) {
			with = append(with, s)
		}
	}
	return with
}

// read returns a file as the editor has it, or as it is on the disk; nil if it can't be read.
func (w workspace) read(path string) *source {
	if d := w.open[w.env.InWorkspace(path)]; d != nil {
		return d.source
	}
	content, err := load.ReadSource(path)
	if err != nil {
		return nil
	}
	return newSource(path, newText(string(content)))
}

// included returns the files that a pipeline includes.
func (w workspace) included(s *source) []*source {
	include, any := s.outline().argument("include")
	if !any {
		return nil
	}
	alone, _ := pipeline.Parse([]byte(s.text.source[include.from:include.to]), filepath.Base(s.path)) // what is wrong with it, the checks find
	var all []*source
	for _, f := range load.Included(w.env, w.cfg, alone, w.unsaved()) {
		if d := w.open[f.Name()]; d != nil {
			all = append(all, d.source)
		} else {
			all = append(all, newSource(w.env.Path(f.Name()), newText(string(f.Source()))))
		}
	}
	return all
}

// affected returns the open documents whose mistakes may have changed with some documents: these, and those that share
// declarations with them.
func (s *server) affected(changed map[string]bool) []*document {
	var all []*document
	add := func(d *document) {
		if d != nil && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	for uri := range changed {
		add(s.document(uri))
	}
	for _, d := range slices.Clone(all) {
		family, _ := s.family(d) // with a configuration that can't be read, nothing can be said of others
		for _, f := range family {
			add(s.documentAt(f.path))
		}
	}
	return all
}

// family returns the files that share declarations with a document: itself, the pipelines of which it is a part, and what
// these include. Each is there once.
func (s *server) family(d *document) ([]*source, error) {
	w, err := s.workspaceOf(d)
	if err != nil {
		return nil, err
	}
	all := []*source{d.source}
	for _, p := range w.pipelinesWith(d) {
		for _, other := range append(w.included(p), p) {
			if !slices.ContainsFunc(all, func(s *source) bool { return s.path == other.path }) {
				all = append(all, other)
			}
		}
	}
	return all, nil
}
