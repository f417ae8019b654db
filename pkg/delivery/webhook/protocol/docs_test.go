// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// Every JSON line in docs/webhook.md is valid in the protocol as it is now: it decodes without unknown fields, and
// encodes to the same text.
func TestDocs_showTheProtocol(t *testing.T) {
	text := must.Get(os.ReadFile("../../../../docs/webhook.md"))(t)
	shown := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			line = strings.TrimSpace(line)
			var into any = new(Response)
			switch {
			case strings.Contains(line, `"operations"`):
				into = new(Batch)
			case strings.Contains(line, `"results"`):
				into = new(BatchResponse)
			case strings.Contains(line, `"operation"`):
				into = new(Request)
			}
			decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(into); err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if again, err := Marshal(into); err != nil || string(again) != line {
				t.Errorf("%s is written %s (%v)", line, again, err)
			}
			if request, ok := into.(*Request); ok {
				if _, err := Decode(request.Record); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			shown++
		}
	}
	if shown < 5 {
		t.Errorf("%d lines", shown)
	}
}
