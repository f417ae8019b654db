// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	_ "embed"
	"strings"
)

//go:embed testdata/values.txt
var sampleText string

var samples = func() map[string][]string {
	byType := map[string][]string{}
	for line := range strings.Lines(sampleText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		mnemonic, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			panic("testdata/values.txt: no tab in " + line)
		}
		byType[mnemonic] = append(byType[mnemonic], text)
	}
	return byType
}()
