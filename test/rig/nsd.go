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
)

const installNSD = "apt-get install nsd"

type NSDConfig struct {
	Addr        netip.AddrPort // zero: a free loopback port
	Keys        []TSIGKey
	Secondaries []SecondaryZone
	Zones       []PrimaryZone // UpdateKey is unused
}

type NSD struct {
	peer
}

func StartNSD(ctx context.Context, c NSDConfig) (*NSD, error) {
	nsd, err := Find("nsd", installNSD)
	if err != nil {
		return nil, err
	}
	n := &NSD{peer{name: "nsd"}}
	n.checkUp = n.checkAnswer
	return n, n.launch(ctx, c.Addr, func() ([]string, error) {
		return []string{nsd, "-d", "-c", filepath.Join(n.dir, "nsd.conf")}, n.writeConfig(c)
	})
}

func (n *NSD) writeConfig(c NSDConfig) error {
	var conf strings.Builder
	authority := ""
	for _, z := range c.Secondaries {
		if z.TLS != nil {
			authority = fmt.Sprintf("\ttls-cert-bundle: %q\n", z.TLS.Authority)
		}
	}
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
%[4]sremote-control:
	control-enable: no
`, n.dir, n.Addr.Addr(), n.Addr.Port(), authority)
	for _, k := range c.Keys {
		fmt.Fprintf(&conf, "key:\n\tname: %q\n\talgorithm: %s\n\tsecret: %q\n", k.Name, k.Algorithm, k.Secret)
	}
	for _, z := range c.Secondaries {
		key := z.Key
		if key == "" {
			key = "NOKEY"
		}
		tls := ""
		if z.TLS != nil {
			tls = " " + z.tlsName()
			fmt.Fprintf(&conf, "tls-auth:\n\tname: %q\n\tauth-domain-name: %q\n", z.tlsName(), z.TLS.ServerName)
			if z.TLS.Certificate != "" {
				fmt.Fprintf(&conf, "\tclient-cert: %q\n\tclient-key: %q\n", z.TLS.Certificate, z.TLS.PrivateKey)
			}
		}
		fmt.Fprintf(&conf, "zone:\n\tname: %q\n\tzonefile: %q\n\trequest-xfr: %s@%d %s%s\n\tallow-notify: 127.0.0.0/8 NOKEY\n\tprovide-xfr: 127.0.0.0/8 NOKEY\n\tmin-retry-time: 1\n",
			z.Zone, zoneFile(z.Zone), z.Primary.Addr(), z.Primary.Port(), key, tls)
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
