// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const installKnot = "apt-get install knot"

// KnotConfig describes one knotd that serves master files and transfers zones.
type KnotConfig struct {
	Addr netip.AddrPort // where it listens; zero: a free loopback port
	// Key signs transfers, and a client without it gets none; nil lets every client on loopback transfer.
	Key   *TSIGKey
	Zones []PrimaryZone // UpdateKey is Key's name or empty
	// Secondaries are not waited for.
	Secondaries []SecondaryZone // Key is Key's name or empty
	Catalogs    []SecondaryZone // as Secondaries; their members are transferred too (RFC 9432)
	// Notify has the servers that are told of new serials of a zone in Zones; nil: none.
	Notify map[string]netip.AddrPort
	// Template has further lines of the default template, like "zonefile-sync: -1".
	Template []string
	// UpdateOwners are the names, relative to the zone, that Key may update, with those below them; nil: all.
	UpdateOwners []string
	// Workers of each kind, for TCP, UDP and what goes on behind; zero: one.
	Workers int
	// Sections are further sections of knot.conf, as they stand in it.
	Sections string
}

// Knot is a running knotd on a loopback port.
type Knot struct {
	Addr netip.AddrPort

	dir     string
	process *Process
	start   func() (*Process, error)
}

// StartKnot starts knotd and waits until it answers for its zones. A missing program is a *Missing. The caller calls
// Close, which ends the process and removes its directory.
func StartKnot(ctx context.Context, c KnotConfig) (*Knot, error) {
	knotd, err := Find("knotd", installKnot)
	if err != nil {
		return nil, err
	}
	if _, err := Find("dig", installBIND); err != nil {
		return nil, err
	}
	return startKnotd(ctx, knotd, c)
}

func startKnotd(ctx context.Context, knotd string, c KnotConfig) (*Knot, error) {
	dir, err := os.MkdirTemp("", "kubizone-knot-")
	if err != nil {
		return nil, err
	}
	k := &Knot{dir: dir}
	if k.Addr = c.Addr; !k.Addr.IsValid() {
		k.Addr, err = FreePort()
	}
	if err == nil {
		err = k.configure(c)
	}
	if err == nil {
		k.start = func() (*Process, error) { return StartProcess(nil, dir, knotd, "-c", filepath.Join(dir, "knot.conf")) }
		k.process, err = k.start()
	}
	if err == nil {
		err = k.waitUp(ctx, c)
	}
	if err != nil {
		k.Close()
		return nil, fmt.Errorf("knotd: %w", err)
	}
	return k, nil
}

func (k *Knot) configure(c KnotConfig) error {
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
		if _, told := c.Notify[z.Zone]; told {
			fmt.Fprintf(&conf, "    notify: secondary-of-%s\n", z.Zone)
		}
	}
	for _, z := range c.Secondaries {
		fmt.Fprintf(&conf, "  - domain: %s\n    file: %q\n    master: primary-of-%s\n    acl: [transfer, notify, signed]\n", z.Zone, zoneFile(z.Zone), z.Zone)
	}
	for _, z := range c.Catalogs {
		fmt.Fprintf(&conf, "  - domain: %[1]s\n    file: %[2]q\n    master: primary-of-%[1]s\n    acl: [transfer, notify, signed]\n    catalog-role: interpret\n    catalog-template: member-of-%[1]s\n", z.Zone, zoneFile(z.Zone))
	}
	conf.WriteString(c.Sections)
	return os.WriteFile(filepath.Join(k.dir, "knot.conf"), []byte(conf.String()), 0o600)
}

// Knotc runs a command of knotd's control socket and returns what it printed.
func (k *Knot) Knotc(ctx context.Context, args ...string) (string, error) {
	knotc, err := Find("knotc", installKnot)
	if err != nil {
		return "", err
	}
	return run(ctx, k.dir, "", knotc, append([]string{"-s", filepath.Join(k.dir, "knot.sock")}, args...)...)
}

// waitUp returns when it answers, and for each zone that it loads.
func (k *Knot) waitUp(ctx context.Context, c KnotConfig) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout+time.Duration(len(c.Zones))*time.Second/4)
	defer cancel()
	for _, z := range append([]PrimaryZone{{Zone: "."}}, c.Zones...) {
		for {
			_, ok, err := Dig{Server: k.Addr}.Serial(ctx, z.Zone)
			if err == nil && (ok || z.Zone == ".") {
				break
			}
			select {
			case <-k.process.Ended():
				return fmt.Errorf("it ended at once: %v\n%s", k.process.Err(), k.Log())
			case <-ctx.Done():
				return fmt.Errorf("no SOA of %s in time:\n%s", z.Zone, k.Log())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// WaitSerial returns when the server answers with that serial, and an error with knotd's log when it has not by the end
// of ctx.
func (k *Knot) WaitSerial(ctx context.Context, zone string, want uint32) error {
	for {
		out, err := Dig{Server: k.Addr}.Run(ctx, "+short", "+norecurse", "+tries=1", "+time=1", "SOA", zone)
		if fields := strings.Fields(out); err == nil && len(fields) == 7 && fields[2] == strconv.FormatUint(uint64(want), 10) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("zone %s: serial %d is not here, the last SOA was %q; knotd says:\n%s", zone, want, out, k.Log())
		case <-k.process.Ended():
			return fmt.Errorf("knotd ended: %v\n%s", k.process.Err(), k.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Transfer is the zone as this server hands it on by AXFR, as a canonical list of records (see Canonical).
func (k *Knot) Transfer(ctx context.Context, zone string) ([]string, error) {
	return Dig{Server: k.Addr}.Transfer(ctx, zone)
}

// Log is what knotd wrote so far (its last megabyte at least).
func (k *Knot) Log() string {
	if k.process == nil {
		return ""
	}
	return k.process.Log()
}

// Pid is the process id.
func (k *Knot) Pid() int { return k.process.Pid() }

// Stop ends knotd and keeps what it has.
func (k *Knot) Stop() { k.process.End() }

// Start starts it again with what it had, and an empty log.
func (k *Knot) Start(ctx context.Context) error {
	var err error
	if k.process, err = k.start(); err != nil {
		return err
	}
	return k.waitUp(ctx, KnotConfig{})
}

// Close ends knotd and removes its directory.
func (k *Knot) Close() error {
	if k.process != nil {
		k.process.End()
	}
	return os.RemoveAll(k.dir)
}
