// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

const smaps = `00400000-0311d000 r-xp 00000000 fe:00 9977915                            /kubizone
Size:              46196 kB
Anonymous:             0 kB
0311d000-066aa000 r--p 02d1d000 fe:00 9977915                            /kubizone
Anonymous:             4 kB
066aa000-067b9000 rw-p 062aa000 fe:00 9977915                            /kubizone
Anonymous:             0 kB
7f0000000000-7f0000100000 r--s 00000000 fe:00 12                         /data/db
Anonymous:             0 kB
7ffc0cb36000-7ffc0cb57000 r--p 00000000 00:00 0
Anonymous:             0 kB
`

// A page that a debugger or a relocation has changed would be lost.
func TestCleanMappings_areOfTheProgramAndUnchanged(t *testing.T) {
	want := []mapping{{0x400000, 0x311d000}}
	if got := cleanMappings(bufio.NewScanner(strings.NewReader(smaps)), "/kubizone"); !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestUnmapProgram_shrinksTheProcess(t *testing.T) {
	resident := func() (kB int) {
		t.Helper()
		for line := range strings.Lines(string(must.Get(os.ReadFile("/proc/self/status"))(t))) {
			if n, _ := fmt.Sscanf(line, "RssFile: %d kB", &kB); n == 1 {
				return kB
			}
		}
		t.Fatal("the status has no RssFile")
		return 0
	}
	before := resident()
	unmapProgram(os.DirFS("/"))
	if after := resident(); after >= before {
		t.Errorf("%d kB of files are resident, and %d before", after, before)
	}
}
