// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"

	"kubi.zone/kubizone/pkg/dns/transfer"
)

const ResolverFile = "/etc/resolv.conf"

// FindResolver returns HOST:PORT of the resolver that a user named or, for "", of the first in ResolverFile. It returns
// "" for "none", or without a resolver.
func FindResolver(asked string) (string, error) {
	switch asked {
	case "none":
		return "", nil
	case "":
		file, err := os.Open(ResolverFile)
		if err != nil {
			return "", nil // a link of the chain will say so
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "nameserver" {
				return net.JoinHostPort(fields[1], "53"), nil
			}
		}
		return "", nil
	}
	address, err := transfer.ParseAddress(asked)
	if err != nil {
		return "", fmt.Errorf("%w, or none", err)
	}
	return address.String(), nil
}
