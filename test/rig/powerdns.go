// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

const (
	installPowerDNS = "apt-get install pdns-server pdns-backend-sqlite3 sqlite3"
	schemaPowerDNS  = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
)

// PowerDNSConfig configures a pdns_server. Keys of the zones are ignored.
type PowerDNSConfig struct {
	Addr        netip.AddrPort // zero means a free loopback port
	Secondaries []SecondaryZone
	Catalogs    []SecondaryZone
	Zones       []PrimaryZone
	APIKey      string // "" means no HTTP API
}

type PowerDNS struct {
	peer
	API string
}

func StartPowerDNS(ctx context.Context, c PowerDNSConfig) (*PowerDNS, error) {
	programs := map[string]string{"pdns_server": "", "pdnsutil": "", "sqlite3": ""}
	for program := range programs {
		path, err := Find(program, installPowerDNS)
		if err != nil {
			return nil, err
		}
		programs[program] = path
	}
	if _, err := os.Stat(schemaPowerDNS); errors.Is(err, os.ErrNotExist) {
		return nil, &Missing{Program: schemaPowerDNS, Install: installPowerDNS}
	}
	p := &PowerDNS{peer: peer{name: "pdns_server"}}
	p.checkUp = p.checkAnswer
	return p, p.launch(ctx, c.Addr, func() ([]string, error) {
		return []string{programs["pdns_server"], "--config-dir=" + p.dir}, p.writeConfig(ctx, programs, c)
	})
}

func (p *PowerDNS) writeConfig(ctx context.Context, programs map[string]string, c PowerDNSConfig) error {
	// Without caches, changes are visible at once.
	conf := fmt.Sprintf(`launch=gsqlite3
gsqlite3-database=%[1]s/pdns.sqlite3
gsqlite3-pragma-synchronous=0
socket-dir=%[1]s
local-address=%[2]s
local-port=%[3]d
secondary=yes
xfr-cycle-interval=1
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
zone-metadata-cache-ttl=0
daemon=no
guardian=no
receiver-threads=1
distributor-threads=1
retrieval-threads=1
disable-syslog=yes
loglevel=6
`, p.dir, p.Addr.Addr(), p.Addr.Port())
	if c.APIKey != "" {
		at, err := FreePort()
		if err != nil {
			return err
		}
		conf += fmt.Sprintf("api=yes\napi-key=%s\nwebserver-address=%s\nwebserver-port=%d\n", c.APIKey, at.Addr(), at.Port())
		p.API = "http://" + at.String()
	}
	if err := os.WriteFile(filepath.Join(p.dir, "pdns.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	// One process writes the rows of pdnsutil's create-secondary-zone, set-kind and set-meta.
	var script strings.Builder
	// PowerDNS' IXFR fails after a concurrent write: one thread retrieves zones. WAL keeps readers from locking.
	fmt.Fprintf(&script, "PRAGMA journal_mode = WAL;\n.read %s\nBEGIN;\n", schemaPowerDNS)
	add := func(zones []SecondaryZone, kind string) {
		for _, z := range zones {
			fmt.Fprintf(&script, "INSERT INTO domains (name, master, type) VALUES ('%s', '%s', '%s');\n", cmp.Or(strings.TrimSuffix(z.Zone, "."), "."), z.Primary, kind)
			if kind != "SLAVE" {
				continue // a catalog is transferred whole
			}
			fmt.Fprintf(&script, "INSERT INTO domainmetadata (domain_id, kind, content) VALUES (last_insert_rowid(), 'IXFR', '1');\n")
		}
	}
	add(c.Secondaries, "SLAVE")
	add(c.Catalogs, "CONSUMER")
	script.WriteString("COMMIT;\n")
	if _, err := runProgram(ctx, p.dir, script.String(), programs["sqlite3"], "-bail", "pdns.sqlite3"); err != nil {
		return err
	}
	for _, z := range c.Zones {
		file := filepath.Join(p.dir, zoneFile(z.Zone))
		if err := os.WriteFile(file, []byte(z.Text), 0o600); err != nil {
			return err
		}
		if _, err := runProgram(ctx, p.dir, "", programs["pdnsutil"], "--config-dir="+p.dir, "load-zone", z.Zone, file); err != nil {
			return fmt.Errorf("zone %s: %w", z.Zone, err)
		}
	}
	return nil
}

func (p *PowerDNS) List(ctx context.Context, zone string) (string, error) {
	pdnsutil, err := Find("pdnsutil", installPowerDNS)
	if err != nil {
		return "", err
	}
	return runProgram(ctx, p.dir, "", pdnsutil, "--config-dir="+p.dir, "list-zone", zone)
}
