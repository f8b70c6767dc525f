package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"prdrunner/runner"
)

// Similar is the program that may be meant by a name that a task did not find.
func (e *Executor) Similar(name string, work runner.Task) string {
	return Similar(name, value(e.environ.of(work, ""), "PATH"), work.Dir)
}

// Similar is the program in path whose name is nearest to one that is not
// there, "" where none is near. A name with a slash is compared with what lies
// in the same directory.
func Similar(name, path, dir string) string {
	folders, prefix := filepath.SplitList(path), ""
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		prefix, name = name[:i+1], name[i+1:]
		folders = []string{prefix}
	}
	best, distance := "", max(1, len(name)/3)+1
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		entries, _ := os.ReadDir(folder) // one that can't be read has no programs
		for _, entry := range entries {
			candidate := strings.TrimSuffix(entry.Name(), ".exe")
			if d := slips(name, candidate, distance); d < distance && !entry.IsDir() && isProgram(filepath.Join(folder, entry.Name())) {
				best, distance = candidate, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return prefix + best
}

// didYouMean is the end of a message about a program that is not there.
func didYouMean(name, path, dir string) string {
	typed, below := strings.CutPrefix(name, dir+"/")
	if below {
		typed = "./" + typed
	}
	if words := strings.Fields(typed); len(words) > 1 {
		if file, failure := lookUp(words[0], path, dir); failure == nil && isProgram(file) {
			return fmt.Sprintf("; a program and its arguments are elements of their own: [%s]", quoted(words))
		}
	}
	if near := Similar(name, path, dir); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = strconv.Quote(word)
	}
	return strings.Join(list, ", ")
}

// slips counts the letters that were left out, put in, mistaken, or exchanged
// with their neighbour, as far as there are fewer than limit.
func slips(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
