//go:build !windows && !darwin && !ios

package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUserFile: the user's own file is weaker than the workspace's.
func TestUserFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for dir, text := range map[string]string{".config": "parallel: 3\ngrace: 1s\n", "xdg": "parallel: 4\ngrace: 1s\n"} {
		at := filepath.Join(home, dir, "runner")
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		environ []string
		want    int
	}{
		{nil, 0},
		{[]string{"HOME=" + home}, 3},
		{[]string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "xdg")}, 4},
		{[]string{"HOME=" + home, "XDG_CONFIG_HOME=xdg"}, 3}, // a relative path is to be ignored
		{[]string{"XDG_CONFIG_HOME=" + filepath.Join(home, "xdg")}, 4},
	} {
		cfg, err := Load(in(t, map[string]string{"runner.yaml": "grace: 2s\n"}, test.environ...))
		if err != nil || cfg.Parallel != test.want || cfg.Grace.Seconds() != 2 {
			t.Errorf("%q: parallel %d, grace %s: %v", test.environ, cfg.Parallel, cfg.Grace, err)
		}
	}
	from := in(t, map[string]string{"runner.yaml": "grace: 2s\n", "named.yaml": "parallel: 5\n"}, "HOME="+home)
	from.File = filepath.Join(from.Workspace, "named.yaml")
	if cfg, err := Load(from); err != nil || cfg.Parallel != 5 || cfg.Grace.Seconds() != 1 {
		t.Errorf("with a file that is named: %v", err)
	}
}
