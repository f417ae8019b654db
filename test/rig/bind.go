// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const installBIND = "apt-get install bind9 bind9-utils bind9-dnsutils"

type TSIGKey struct {
	Name      string
	Algorithm string // hmac-sha256 or hmac-sha512
	Secret    string // base64
}

func (k TSIGKey) Statement() string {
	return fmt.Sprintf("key %q {\n\talgorithm %s;\n\tsecret %q;\n};\n", k.Name, k.Algorithm, k.Secret)
}

type SecondaryZone struct {
	Zone    string
	Primary netip.AddrPort
	Key     string // "" means unsigned
	// TLS, if not nil, transfers over TLS. Only BIND and NSD have it.
	TLS *TLSClient
}

// TLSClient names PEM files: the authority of the primary, and the client's certificate and key, "" for none.
// ServerName is in the primary's certificate.
type TLSClient struct {
	Authority, Certificate, PrivateKey, ServerName string
}

// PrimaryZone is a zone from a master file.
type PrimaryZone struct {
	Zone      string
	Text      string
	UpdateKey string // may update and transfer; "" means no updates, and loopback clients transfer
}

type Control struct {
	Addr netip.AddrPort
	Key  TSIGKey
}

type BINDConfig struct {
	Addr        netip.AddrPort // zero means a free loopback port
	Keys        []TSIGKey
	Secondaries []SecondaryZone
	Catalogs    []SecondaryZone // members are transferred too (RFC 9432)
	Primaries   []PrimaryZone
	Controls    []Control
	Notify      bool   // to also-notify at once
	Clients     string // address match list for queries; empty: loopback and Addr
	Options     string
	Statements  string
}

type BIND struct {
	peer
	rndc    string
	control netip.AddrPort
}

func StartBIND(ctx context.Context, c BINDConfig) (*BIND, error) {
	named, err := Find("named", installBIND)
	if err != nil {
		return nil, err
	}
	rndc, err := Find("rndc", installBIND)
	if err != nil {
		return nil, err
	}
	if _, err := Find("dig", installBIND); err != nil {
		return nil, err
	}
	b := &BIND{peer: peer{name: "named"}, rndc: rndc}
	b.checkUp = func(context.Context) error {
		log := b.Log()
		if strings.Contains(log, "address in use") {
			b.process.End()
		} else if strings.Contains(log, ": running") || strings.Contains(log, " running\n") {
			return nil
		}
		return errors.New("it is not running")
	}
	return b, b.launch(ctx, c.Addr, func() ([]string, error) {
		if b.control, err = FreePort(); err != nil {
			return nil, err
		}
		return []string{named, "-g", "-4", "-n", "1", "-c", filepath.Join(b.dir, "named.conf")}, b.writeConfig(c)
	})
}

func (b *BIND) writeConfig(c BINDConfig) error {
	control := TSIGKey{Name: "rig-control", Algorithm: "hmac-sha256", Secret: "cmlnLWNvbnRyb2wtb24tbG9vcGJhY2stb25seS0wMDE="}
	var conf strings.Builder
	conf.WriteString(control.Statement())
	for _, k := range c.Keys {
		conf.WriteString(k.Statement())
	}
	var catalogs strings.Builder
	if len(c.Catalogs) > 0 {
		catalogs.WriteString("\tcatalog-zones {\n")
	}
	for _, z := range c.Catalogs {
		fmt.Fprintf(&catalogs, "\t\tzone %q default-primaries { %s } in-memory yes min-update-interval 1;\n", z.Zone, z.formatPrimary())
	}
	if len(c.Catalogs) > 0 {
		catalogs.WriteString("\t};\n")
	}
	notify := "notify no;"
	if c.Notify {
		notify = "notify explicit;\n\tnotify-delay 0;"
	}
	fmt.Fprintf(&conf, `options {
	directory %[1]q;
	pid-file "named.pid";
	session-keyfile "session.key";
	managed-keys-directory ".";
	listen-on port %[2]d { %[5]s; };
	listen-on-v6 { none; };
	recursion no;
	dnssec-validation no;
	allow-query { 127.0.0.0/8; %[5]s; %[8]s };
	allow-transfer { 127.0.0.0/8; };
	masterfile-format text;
	%[7]s
	max-records 0;
	tcp-clients 1000;
	querylog no;
	%[3]s
%[6]s};
controls { inet 127.0.0.1 port %[4]d allow { 127.0.0.1; } keys { "rig-control"; }; };
`, b.dir, b.Addr.Port(), c.Options, b.control.Port(), b.Addr.Addr(), catalogs.String(), notify, c.Clients)
	for _, control := range c.Controls {
		fmt.Fprintf(&conf, "%scontrols { inet %s port %d allow { 127.0.0.1; } keys { %q; }; };\n", control.Key.Statement(), control.Addr.Addr(), control.Addr.Port(), control.Key.Name)
	}
	conf.WriteString(c.Statements)
	for _, z := range append(slices.Clone(c.Secondaries), c.Catalogs...) {
		conf.WriteString(z.formatTLS())
		fmt.Fprintf(&conf, "zone %q {\n\ttype secondary;\n\tfile %q;\n\tprimaries { %s };\n\tmin-retry-time 1;\n};\n", z.Zone,
			zoneFile(z.Zone), z.formatPrimary())
	}
	for _, z := range c.Primaries {
		if err := os.WriteFile(filepath.Join(b.dir, zoneFile(z.Zone)), []byte(z.Text), 0o600); err != nil {
			return err
		}
		rights := ""
		if z.UpdateKey != "" {
			rights = fmt.Sprintf("\tallow-update { key %q; };\n\tallow-transfer { key %q; };\n", z.UpdateKey, z.UpdateKey)
		}
		fmt.Fprintf(&conf, "zone %q {\n\ttype primary;\n\tfile %q;\n%s};\n", z.Zone, zoneFile(z.Zone), rights)
	}
	rndcConf := control.Statement() + fmt.Sprintf("options { default-key \"rig-control\"; default-server 127.0.0.1; default-port %d; };\n", b.control.Port())
	if err := os.WriteFile(filepath.Join(b.dir, "rndc.conf"), []byte(rndcConf), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "named.conf"), []byte(conf.String()), 0o600)
}

func (z SecondaryZone) formatPrimary() string {
	key := ""
	if z.Key != "" {
		key = fmt.Sprintf(" key %q", z.Key)
	}
	if z.TLS != nil {
		key += fmt.Sprintf(" tls %q", z.tlsName())
	}
	return fmt.Sprintf("%s port %d%s;", z.Primary.Addr(), z.Primary.Port(), key)
}

func (z SecondaryZone) tlsName() string { return "tls-of-" + strings.TrimSuffix(z.Zone, ".") }

func (z SecondaryZone) formatTLS() string {
	if z.TLS == nil {
		return ""
	}
	client := ""
	if z.TLS.Certificate != "" {
		client = fmt.Sprintf("\tcert-file %q;\n\tkey-file %q;\n", z.TLS.Certificate, z.TLS.PrivateKey)
	}
	return fmt.Sprintf("tls %q {\n\tca-file %q;\n\tremote-hostname %q;\n%s};\n", z.tlsName(), z.TLS.Authority, z.TLS.ServerName, client)
}

func zoneFile(zone string) string {
	text := strings.TrimSuffix(zone, ".")
	if text == "" {
		text = "root"
	}
	return strings.ReplaceAll(text, "/", "~") + ".db"
}

func (b *BIND) Rndc(ctx context.Context, args ...string) (string, error) {
	return runProgram(ctx, b.dir, "", b.rndc, append([]string{"-c", filepath.Join(b.dir, "rndc.conf")}, args...)...)
}

func (b *BIND) RndcCommand() []string {
	return []string{b.rndc, "-c", filepath.Join(b.dir, "rndc.conf")}
}

func (b *BIND) ZoneFile(zone string) string { return filepath.Join(b.dir, zoneFile(zone)) }
