package lsp

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
)

// workspace is the workspace of a document.
type workspace struct {
	env     *cli.Environment
	cfg     *config.Config
	unsaved map[string][]byte // the open documents, by path in the workspace
}

// workspaceOf returns the workspace of a document.
func (s *server) workspaceOf(d *document) (w workspace, err error) {
	w = workspace{env: s.env.BesideFile(d.path, io.Discard), unsaved: map[string][]byte{}}
	if w.cfg, err = w.env.LoadConfig(); err != nil {
		return w, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.documents {
		if name := w.env.InWorkspace(open.path); name != "" {
			w.unsaved[name] = []byte(open.text.source)
		}
	}
	return w, nil
}

// isPipeline reports whether a document is a pipeline, and not a file that pipelines include.
func (d *document) isPipeline(w workspace) bool {
	id, _ := strings.CutSuffix(filepath.Base(d.path), config.PipelineExtension)
	return w.cfg.IDPattern.MatchString(id) || d.file().ID() != ""
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
	content, unsaved := w.unsaved[w.env.InWorkspace(path)]
	if !unsaved {
		var err error
		if content, err = load.ReadSource(path); err != nil {
			return nil
		}
	}
	return newSource(path, newText(string(content)))
}

// included returns the files that a pipeline includes.
func (w workspace) included(s *source) []*source {
	var all []*source
	for _, f := range load.Included(w.env, w.cfg, s.file(), w.unsaved) {
		all = append(all, newSource(w.env.Path(f.Name()), newText(string(f.Source()))))
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
