package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"prdrunner/runner"
)

// Similar returns the program that the task may have meant by a name, or "".
func (e *Executor) Similar(name string, work runner.Task) string {
	return Similar(name, lastValue(e.environ.forTask(work, ""), "PATH"), work.Dir)
}

// Similar returns the program in path with the most similar name, or "". For a name with a
// slash it searches the directory in that name.
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
		entries, _ := os.ReadDir(folder) // an unreadable directory has no programs
		for _, entry := range entries {
			candidate := strings.TrimSuffix(entry.Name(), ".exe")
			if d := editDistance(name, candidate, distance); d < distance && !entry.IsDir() && isProgram(filepath.Join(folder, entry.Name())) {
				best, distance = candidate, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return prefix + best
}

// didYouMean returns the end of a message about a missing program.
func didYouMean(name, path, dir string) string {
	typed, below := strings.CutPrefix(name, dir+"/")
	if below {
		typed = "./" + typed
	}
	if words := strings.Fields(typed); len(words) > 1 {
		if file, failure := lookUp(words[0], path, dir); failure == nil && isProgram(file) {
			return fmt.Sprintf("; a program and its arguments are elements of their own: [%s]", quoteWords(words))
		}
	}
	if near := Similar(name, path, dir); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func quoteWords(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = strconv.Quote(word)
	}
	return strings.Join(list, ", ")
}

// editDistance counts the letters that were omitted, added, replaced, or exchanged with
// their neighbour. It stops at limit.
func editDistance(a, b string, limit int) int {
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
