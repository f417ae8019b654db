// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const installKnot = "apt-get install knot"

type KnotConfig struct {
	Addr netip.AddrPort // zero means a free loopback port
	// Key is required for transfers; nil lets every loopback client transfer.
	Key         *TSIGKey
	Zones       []PrimaryZone   // UpdateKey is Key's or ""
	Secondaries []SecondaryZone // Key is Key's or ""
	Catalogs    []SecondaryZone
	// ForwardKeys may update Secondaries, which forward to the primaries.
	ForwardKeys []TSIGKey
	// Notify has the server that gets a zone's NOTIFY.
	Notify   map[string]netip.AddrPort
	Template []string
	// MemberTemplates are the templates of a catalog's members: the first without a group, else that of the group's
	// name. Nil means one for all, member-of-CATALOG.
	MemberTemplates []string
	Primary         []string // further lines of each primary
	// UpdateOwners limit Key's updates to relative names and below; nil means all.
	UpdateOwners []string
	// Workers is the number of each kind of worker; 0 means 1.
	Workers  int
	Sections string
}

type Knot struct {
	peer
}

func StartKnot(ctx context.Context, c KnotConfig) (*Knot, error) {
	knotd, err := Find("knotd", installKnot)
	if err != nil {
		return nil, err
	}
	if _, err := Find("dig", installBIND); err != nil {
		return nil, err
	}
	k := &Knot{peer{name: "knotd", timeout: time.Duration(len(c.Zones)) * time.Second / 4}}
	loads := c.Zones
	k.checkUp = func(ctx context.Context) error {
		if err := k.checkAnswer(ctx); err != nil {
			return err
		}
		for ; len(loads) > 0; loads = loads[1:] {
			if _, ok, err := (Dig{Server: k.Addr}).Serial(ctx, loads[0].Zone); err != nil || !ok {
				return fmt.Errorf("it has no SOA of %s: %v", loads[0].Zone, err)
			}
		}
		return nil
	}
	return k, k.launch(ctx, c.Addr, func() ([]string, error) {
		return []string{knotd, "-c", filepath.Join(k.dir, "knot.conf")}, k.writeConfig(c)
	})
}

func (k *Knot) writeConfig(c KnotConfig) error {
	var conf strings.Builder
	fmt.Fprintf(&conf, `server:
    rundir: %[1]q
    listen: %[2]s@%[3]d
    tcp-workers: %[4]d
    udp-workers: %[4]d
    background-workers: %[4]d
log:
  - target: stderr
    any: info
database:
    storage: %[1]q
`, k.dir, k.Addr.Addr(), k.Addr.Port(), max(1, c.Workers))
	key := ""
	if c.Key != nil {
		fmt.Fprintf(&conf, "key:\n  - id: %s\n    algorithm: %s\n    secret: %s\n", c.Key.Name, c.Key.Algorithm, c.Key.Secret)
		key = "    key: " + c.Key.Name + "\n"
	}
	forward := ""
	for _, k := range c.ForwardKeys {
		fmt.Fprintf(&conf, "key:\n  - id: %[1]s\n    algorithm: %[2]s\n    secret: %[3]s\n", k.Name, k.Algorithm, k.Secret)
		fmt.Fprintf(&conf, "acl:\n  - id: forward-%[1]s\n    action: update\n    key: %[1]s\n", k.Name)
		forward += ", forward-" + k.Name
	}
	fmt.Fprintf(&conf, "acl:\n  - id: transfer\n    address: 127.0.0.0/8\n    action: transfer\n%s", key)
	fmt.Fprintf(&conf, "  - id: update\n    address: 127.0.0.0/8\n    action: update\n%s", key)
	if c.UpdateOwners != nil {
		fmt.Fprintf(&conf, "    update-owner: name\n    update-owner-match: sub-or-equal\n    update-owner-name: [%s]\n", strings.Join(c.UpdateOwners, ", "))
	}
	conf.WriteString("  - id: notify\n    address: 127.0.0.0/8\n    action: notify\n")
	fmt.Fprintf(&conf, "  - id: signed\n    address: 127.0.0.0/8\n    action: notify\n%s", key)
	for _, z := range append(slices.Clone(c.Secondaries), c.Catalogs...) {
		fmt.Fprintf(&conf, "remote:\n  - id: primary-of-%s\n    address: %s@%d\n", z.Zone, z.Primary.Addr(), z.Primary.Port())
		if z.Key != "" {
			conf.WriteString(key)
		}
		for _, line := range c.Primary {
			fmt.Fprintf(&conf, "    %s\n", line)
		}
	}
	for zone, to := range c.Notify {
		fmt.Fprintf(&conf, "remote:\n  - id: secondary-of-%s\n    address: %s@%d\n%s", zone, to.Addr(), to.Port(), key)
	}
	fmt.Fprintf(&conf, "template:\n  - id: default\n    storage: %q\n    acl: transfer\n", k.dir)
	for _, line := range c.Template {
		fmt.Fprintf(&conf, "    %s\n", line)
	}
	for _, z := range c.Catalogs {
		fmt.Fprintf(&conf, "  - id: member-of-%s\n    storage: %q\n    master: primary-of-%s\n    acl: [transfer, notify, signed]\n", z.Zone, k.dir, z.Zone)
	}
	conf.WriteString("zone:\n")
	for _, z := range c.Zones {
		if err := os.WriteFile(filepath.Join(k.dir, zoneFile(z.Zone)), []byte(z.Text), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&conf, "  - domain: %s\n    file: %q\n", z.Zone, zoneFile(z.Zone))
		if z.UpdateKey != "" {
			conf.WriteString("    acl: [transfer, update]\n")
		}
		if _, reported := c.Notify[z.Zone]; reported {
			fmt.Fprintf(&conf, "    notify: secondary-of-%s\n", z.Zone)
		}
	}
	for _, z := range c.Secondaries {
		fmt.Fprintf(&conf, "  - domain: %s\n    file: %q\n    master: primary-of-%s\n    acl: [transfer, notify, signed%s]\n", z.Zone,
			zoneFile(z.Zone), z.Zone, forward)
	}
	for _, z := range c.Catalogs {
		fmt.Fprintf(&conf, "  - domain: %[1]s\n    file: %[2]q\n    master: primary-of-%[1]s\n    acl: [transfer, notify, signed]\n    catalog-role: interpret\n    catalog-template: [%[3]s]\n", z.Zone, zoneFile(z.Zone),
			cmp.Or(strings.Join(c.MemberTemplates, ", "), "member-of-"+z.Zone))
	}
	conf.WriteString(c.Sections)
	return os.WriteFile(filepath.Join(k.dir, "knot.conf"), []byte(conf.String()), 0o600)
}

func (k *Knot) Knotc(ctx context.Context, args ...string) (string, error) {
	knotc, err := Find("knotc", installKnot)
	if err != nil {
		return "", err
	}
	return runProgram(ctx, k.dir, "", knotc, append([]string{"-s", filepath.Join(k.dir, "knot.sock")}, args...)...)
}
