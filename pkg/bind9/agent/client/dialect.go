// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
)

type dialect struct {
	// agent is true for Kubizone's agent, which accepts repeated requests.
	agent bool
	rate  rate.Limit
	burst int
}

var (
	bindcar07 = dialect{rate: 1, burst: 10}
	bindcar09 = dialect{rate: 10, burst: 50}
	kubizone  = dialect{agent: true, rate: 50, burst: 100}
	slowest   = bindcar07
)

// Images of bindcar 0.7.1 and 0.7.2 report 0.7.0.
func readDialect(health protocol.Health) (dialect, error) {
	if health.Agent == "kubizone" {
		return kubizone, nil
	}
	version := make([]uint, 3)
	_, _ = fmt.Sscanf(strings.TrimPrefix(health.Version, "v"), "%d.%d.%d", &version[0], &version[1], &version[2])
	// An unreadable version counts as 0.0.0, and is too old.
	switch {
	case slices.Compare(version, []uint{0, 9, 0}) >= 0:
		return bindcar09, nil
	case slices.Compare(version, []uint{0, 7, 3}) >= 0:
		return bindcar07, nil
	}
	return dialect{}, fmt.Errorf("bindcar %q is too old: at least 0.7.3 is needed, which takes addresses with ports", health.Version)
}

var bindcarName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func showName(zone name.Name) string {
	if zone == name.Root {
		return "."
	}
	return strings.TrimSuffix(zone.String(), ".")
}

// translateZone returns the request as the dialect understands it. A zone that the dialect cannot express is an error
// with Unsupported, before anything is sent (C3).
func (d dialect) translateZone(zone name.Name, asked protocol.CreateZone) (protocol.CreateZone, error) {
	asked.ZoneName = showName(zone)
	if d.agent {
		return asked, nil
	}
	// bindcar takes neither _tcp.example.org nor 0/25.2.0.192.in-addr.arpa.
	if !bindcarName.MatchString(asked.ZoneName) {
		return asked, unsupported("bindcar takes no zone with the name %s; let the fleet follow a catalog zone, "+
			"or give it Kubizone's agent", zone)
	}

	config := &asked.ZoneConfig
	for _, list := range []*[]string{&config.Primaries, &config.AlsoNotify} {
		plain := make([]string, len(*list))
		for i, text := range *list {
			// bindcar cannot name a key; named.conf has it in a server block.
			plain[i], _, _ = strings.Cut(text, " key ")
		}
		*list = plain
	}
	config.AllowTransfer = nil // named's options allow transfers by key

	// bindcar requires the fields of a primary for a secondary too.
	if asked.ZoneType == protocol.Secondary {
		ttl := uint32(3600)
		config.TTL, config.SOA = &ttl, &protocol.SOA{PrimaryNS: "invalid.", AdminEmail: "invalid."}
		asked.UpdateKeyName = "" // with a key BIND would accept updates
	}

	if config.NameServers == nil {
		config.NameServers = []string{}
	}
	if config.NameServerIPs == nil {
		config.NameServerIPs = map[string]string{}
	}
	return asked, nil
}
