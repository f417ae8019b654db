// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// unmapProgram drops the pages of the program's file from this process's resident memory. The kernel maps a page again,
// from its cache or the file, when it is used. Mappings with a changed page are left alone.
func unmapProgram(root fs.FS) {
	program, err := os.Executable()
	if err != nil {
		return
	}
	file, err := root.Open("proc/self/smaps")
	if err != nil {
		return
	}
	defer file.Close()
	for _, m := range cleanMappings(bufio.NewScanner(file), program) {
		// The address is no object of Go.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.begin, m.end-m.begin, syscall.MADV_DONTNEED)
	}
}

type mapping struct{ begin, end uintptr }

// cleanMappings reads proc_pid_smaps(5), and returns the read-only mappings of a file without changed pages.
func cleanMappings(lines *bufio.Scanner, path string) (clean []mapping) {
	var last mapping
	ours := false
	for lines.Scan() {
		line := lines.Text()
		var m mapping
		var mode string
		var size int
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &m.begin, &m.end, &mode); n == 3 {
			last, ours = m, strings.HasPrefix(mode, "r-") && strings.HasSuffix(line, " "+path)
		} else if n, _ := fmt.Sscanf(line, "Anonymous: %d kB", &size); n == 1 && size == 0 && ours {
			clean = append(clean, last)
		}
	}
	return clean
}
