package workspace

import "context"

// InScope returns a function that reports for entries, from Now, whether a capture with
// the given patterns would include them. If inGit is false, git is not used.
func (w *Workspace) InScope(ctx context.Context, patterns []string, inGit bool) (func(Entry) bool, error) {
	g, err := w.Walk(ctx, patterns)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, path := range append(g.Files, g.Empty...) {
		in[path] = true
	}
	inGit = inGit && w.o.Git != nil
	if inGit {
		files, err := w.o.Git.Files(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			in[f.Path] = true
		}
	}
	return func(e Entry) bool { return in[e.Path] || inGit && e.isDir() }, nil
}

// Names returns the paths that Now would list. It reads no file.
func (w *Workspace) Names(ctx context.Context, patterns []string) ([]string, error) {
	s, err := w.survey(ctx, patterns)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range s.listing(patterns).Entries {
		names = append(names, e.Path)
	}
	return names, nil
}
