// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const installNSD = "apt-get install nsd"

// NSDConfig describes one nsd that transfers zones or serves master files. Every client on loopback may transfer them.
type NSDConfig struct {
	Addr        netip.AddrPort // where it listens; zero: a free loopback port
	Keys        []TSIGKey
	Secondaries []SecondaryZone
	Zones       []PrimaryZone // UpdateKey is not used
}

// NSD is a running nsd on a loopback port.
type NSD struct {
	Addr netip.AddrPort

	dir     string
	process *Process
}

// StartNSD starts nsd and waits until it answers. A missing program is a *Missing. The caller calls Close, which ends
// the process and removes its directory.
func StartNSD(ctx context.Context, c NSDConfig) (*NSD, error) {
	nsd, err := Find("nsd", installNSD)
	if err != nil {
		return nil, err
	}
	return startNSD(ctx, nsd, c)
}

func startNSD(ctx context.Context, nsd string, c NSDConfig) (*NSD, error) {
	dir, err := os.MkdirTemp("", "kubizone-nsd-")
	if err != nil {
		return nil, err
	}
	n := &NSD{dir: dir}
	if n.Addr = c.Addr; !n.Addr.IsValid() {
		n.Addr, err = FreePort()
	}
	if err == nil {
		err = n.configure(c)
	}
	if err == nil {
		n.process, err = StartProcess(nil, dir, nsd, "-d", "-c", filepath.Join(dir, "nsd.conf"))
	}
	if err == nil {
		err = n.waitUp(ctx)
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("nsd: %w", err)
	}
	return n, nil
}

func (n *NSD) configure(c NSDConfig) error {
	var conf strings.Builder
	fmt.Fprintf(&conf, `server:
	server-count: 1
	username: ""
	zonesdir: %[1]q
	zonelistfile: "%[1]s/zone.list"
	xfrdfile: "%[1]s/xfrd.state"
	xfrdir: %[1]q
	database: ""
	pidfile: "%[1]s/nsd.pid"
	ip-address: %[2]s@%[3]d
	do-ip6: no
	verbosity: 1
	xfrd-reload-timeout: 0
remote-control:
	control-enable: no
`, n.dir, n.Addr.Addr(), n.Addr.Port())
	for _, k := range c.Keys {
		fmt.Fprintf(&conf, "key:\n\tname: %q\n\talgorithm: %s\n\tsecret: %q\n", k.Name, k.Algorithm, k.Secret)
	}
	for _, z := range c.Secondaries {
		key := z.Key
		if key == "" {
			key = "NOKEY"
		}
		fmt.Fprintf(&conf, "zone:\n\tname: %q\n\tzonefile: %q\n\trequest-xfr: %s@%d %s\n\tallow-notify: 127.0.0.0/8 NOKEY\n\tprovide-xfr: 127.0.0.0/8 NOKEY\n\tmin-retry-time: 1\n",
			z.Zone, zoneFile(z.Zone), z.Primary.Addr(), z.Primary.Port(), key)
		if z.Key != "" {
			fmt.Fprintf(&conf, "\tallow-notify: 127.0.0.0/8 %s\n", key)
		}
	}
	for _, z := range c.Zones {
		if err := os.WriteFile(filepath.Join(n.dir, zoneFile(z.Zone)), []byte(z.Text), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&conf, "zone:\n\tname: %q\n\tzonefile: %q\n\tprovide-xfr: 127.0.0.0/8 NOKEY\n", z.Zone, zoneFile(z.Zone))
	}
	return os.WriteFile(filepath.Join(n.dir, "nsd.conf"), []byte(conf.String()), 0o600)
}

// waitUp returns when it answers at all.
func (n *NSD) waitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if _, _, err := (Dig{Server: n.Addr}).Serial(ctx, "."); err == nil {
			return nil
		}
		select {
		case <-n.process.Ended():
			return fmt.Errorf("it ended at once: %v\n%s", n.process.Err(), n.Log())
		case <-ctx.Done():
			return fmt.Errorf("no answer in time:\n%s", n.Log())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Log is what nsd wrote so far (its last megabyte at least).
func (n *NSD) Log() string {
	if n.process == nil {
		return ""
	}
	return n.process.Log()
}

// Close ends nsd and removes its directory.
func (n *NSD) Close() error {
	if n.process != nil {
		n.process.End()
	}
	return os.RemoveAll(n.dir)
}
