// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Write writes entries as a master file, one line each, in the order given,
// and returns how many it has written. The SOA should come first: some readers
// want it so. Memory does not grow with the number of entries.
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
	line = append(line, entry.Name.String()...)
	line = append(line, '\t')
	line = strconv.AppendUint(line, uint64(entry.TTL), 10)
	line = append(line, "\tIN\t"...)
	line = append(line, rtype...)
	line = append(line, '\t')
	line = append(line, data...)
	return append(line, '\n'), nil
}
