// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	t, err := readTable(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "semantics:", err)
		os.Exit(1)
	}
	fmt.Print(t)
	if wrong := t.listWrong(); len(wrong) > 0 {
		fmt.Fprintf(os.Stderr, "semantics: %s\n", strings.Join(wrong, "\nsemantics: "))
		os.Exit(1)
	}
}
