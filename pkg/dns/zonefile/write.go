// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Write writes entries as a master file, each on its own line, and returns their number. Some readers require the SOA
// as the first entry.
func Write(w io.Writer, entries iter.Seq[dns.Entry]) (n int, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	line := make([]byte, 0, 1024)
	for entry := range entries {
		if line, err = appendLine(line[:0], entry); err != nil {
			return n, err
		}
		if _, err = out.Write(line); err != nil {
			return n, fmt.Errorf("zone file after %d entries: %w", n, err)
		}
		n++
	}
	if err := out.Flush(); err != nil {
		return n, fmt.Errorf("zone file after %d entries: %w", n, err)
	}
	return n, nil
}

func appendLine(line []byte, entry dns.Entry) ([]byte, error) {
	rtype, data, err := rdata.Value{Type: entry.Type, Text: entry.Data}.MasterFile()
	if err != nil {
		return nil, fmt.Errorf("zone file: entry at %s: %w", entry.Name, err)
	}
	return append(entry.AppendLine(line, rtype, data), '\n'), nil
}
