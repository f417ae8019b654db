// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Files and ports in a pod. Port 53 needs a capability that the Pod Security Standard "restricted" forbids.
const (
	ConfigDir    = "/etc/bind"
	StateDir     = "/var/cache/bind"
	DNSPort      = 5353
	RNDCPort     = 9530
	AgentPort    = 8443
	ProbePort    = 8081 // of the agent's supervisor
	configFile   = "named.conf"
	catalogsFile = "catalogs"
	keysFile     = "named.keys"
	rndcFile     = "rndc.key"
	tsigFile     = "tsig.key"
	tokenFile    = "token"
)

// maxUDP is in octets (DNS flag day 2020).
const maxUDP = 1232

// zoneRate bounds SOA queries and NOTIFYs per second. With BIND's default of 20, 10,000 zones take ten minutes.
const zoneRate = 1000

func (s *Server) Files() (map[string]string, error) {
	text, err := s.namedConf()
	if err != nil {
		return nil, err
	}
	catalogs := ""
	for _, catalog := range s.Catalogs {
		catalogs += catalog.Zone.String() + "\n"
	}
	return map[string]string{configFile: text, catalogsFile: catalogs}, nil
}

// KeyFiles returns the files with secrets. The error names the wrong key, never a secret.
func (s *Server) KeyFiles() (map[string]string, error) {
	if err := s.Control.check(); err != nil {
		return nil, fmt.Errorf("control key: %w", err)
	}
	transfer, err := s.Transfer.formatStatements()
	if err != nil {
		return nil, fmt.Errorf("transfer key: %w", err)
	}
	peers := ""
	if s.Peers != nil {
		if peers, err = s.Peers.formatStatements(); err != nil {
			return nil, fmt.Errorf("transfer key of the cluster: %w", err)
		}
	}
	// A volume updates the files of a source together, so controls is in the keys' file.
	controls := fmt.Sprintf("controls {\n\tinet 127.0.0.1 port %d allow { 127.0.0.1; } keys { %q; };\n};\n", RNDCPort, s.Control.Name)
	return map[string]string{
		keysFile: s.Control.statement() + peers + controls,
		rndcFile: s.Control.statement(),
		tsigFile: transfer,
	}, nil
}

// MountedFiles returns all files that a pod mounts in ConfigDir. Their hash is that of the agent.
func (s *Server) MountedFiles() (map[string]string, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	keys, err := s.KeyFiles()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, keys)
	files[tokenFile], files[corev1.TLSCertKey], files[corev1.TLSPrivateKeyKey] = s.Access.Token, string(s.Access.Certificate),
		string(s.Access.PrivateKey)
	return files, nil
}

// Hash returns the hash that the agent reports (agent.hashFiles).
func Hash(files ...map[string]string) string {
	all := map[string]string{}
	for _, some := range files {
		maps.Copy(all, some)
	}
	sum := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(sum, "%s\x00%s\x00", file, all[file])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

var addressWords = []string{"any", "none", "localhost", "localnets"}

// conf collects named.conf, and keeps the first error.
type conf struct {
	strings.Builder
	err error
}

func (c *conf) fail(field, format string, arguments ...any) {
	if !strings.HasPrefix(field, "dnssec.") {
		field = "config." + field
	}
	if c.err == nil {
		c.err = fmt.Errorf("spec.%s: %s", field, fmt.Sprintf(format, arguments...))
	}
}

func (c *conf) line(format string, arguments ...any) {
	fmt.Fprintf(c, format+"\n", arguments...)
}

// formatAddresses returns the addresses of a setting as an address match list: { 192.0.2.0/24; !192.0.2.7; any; }. A
// wrong entry is recorded in c.err, with the field's name.
func (c *conf) formatAddresses(field string, list []string) string {
	var out strings.Builder
	for i, entry := range list {
		element, negated := strings.CutPrefix(entry, "!")
		element = strings.TrimSpace(element)
		text := ""
		if address, err := netip.ParseAddr(element); err == nil && address.Zone() == "" {
			text = address.String()
		} else if prefix, err := netip.ParsePrefix(element); err == nil {
			// named refuses 192.0.2.1/24, and users mean the network.
			text = prefix.Masked().String()
		} else if slices.Contains(addressWords, strings.ToLower(element)) {
			text = strings.ToLower(element)
		} else {
			c.fail(fmt.Sprintf("%s[%d]", field, i), "is neither an address nor a prefix")
			continue
		}
		if negated {
			text = "!" + text
		}
		out.WriteString(" " + text + ";")
	}
	return "{" + out.String() + " }"
}

// namedConf returns named.conf. An error is the first wrong setting. Included files have the keys, so that this file
// may be in a ConfigMap.
func (s *Server) namedConf() (string, error) {
	config := cmp.Or(s.Settings.Config, &bind9.Config{})

	if err := s.Transfer.check(); err != nil {
		return "", fmt.Errorf("transfer key: %w", err)
	}

	// 1. Files, ports and NOTIFY.
	c := &conf{}
	c.line("// kubizone fleet wrote this file. A change of it is overwritten: change spec.config of the Bind9Instance or its Bind9Cluster.")
	c.line("include %q;", ConfigDir+"/"+keysFile)
	c.line("include %q;", ConfigDir+"/"+tsigFile)
	c.line("options {")
	c.line("\tdirectory %q;", StateDir)
	c.line("\tpid-file %q;", StateDir+"/named.pid")
	c.line("\tsession-keyfile %q;", StateDir+"/session.key")
	c.line("\tlisten-on port %d { any; };", DNSPort)
	c.line("\tlisten-on-v6 port %d { any; };", DNSPort)
	c.line("\tallow-new-zones yes;")
	c.line("\tversion none;")
	c.line("\thostname none;")
	c.line("\tserver-id none;")
	// The primary or the agent notifies the servers. A server notifies only servers named in a zone.
	c.line("\tnotify explicit;")
	// With BIND's default of five seconds, a server would answer with former signatures beside new keys.
	c.line("\tnotify-delay 0;")
	c.line("\tnotify-rate %d;", zoneRate)

	// 2. Permissions to notify, update, query and transfer.
	c.line("\tallow-notify { %s };", s.Transfer.formatList())
	c.line("\tallow-update { none; };")
	if len(config.UpdateForwarding) > 0 {

		// The primary checks the client's signature, which BIND forwards unchanged.
		c.line("\tallow-update-forwarding %s;", c.formatAddresses("updateForwarding", config.UpdateForwarding))
	}
	// The agent checks over loopback whether zones are loaded.
	query := "{ any; }"
	if len(config.AllowQuery) > 0 {
		query = "{ 127.0.0.1;" + strings.TrimPrefix(c.formatAddresses("allowQuery", config.AllowQuery), "{")
	}

	// A signer is hidden: only the cluster's servers and the controller query it, by key.
	peers := s.formatPeers()
	if s.Role == bind9.RoleSigner {
		query = fmt.Sprintf("{ 127.0.0.1; %s%s }", s.Transfer.formatList(), peers)
	}
	c.line("\tallow-query %s;", query)
	c.line("\tserial-query-rate %d;", zoneRate)

	transfer := c.formatAddresses("allowTransfer", config.AllowTransfer)
	c.line("\tallow-transfer { %s%s%s;", s.Transfer.formatList(), peers, strings.TrimPrefix(transfer, "{"))

	// 3. How BIND answers.
	c.line("\trecursion no;")
	c.line("\tallow-query-cache { none; };")
	c.line("\tdnssec-validation no;")
	c.line("\tminimal-responses yes;")

	if config.QueryLog {
		c.line("\tquerylog yes;")
	}
	c.line("\tedns-udp-size %d;", maxUDP)
	c.line("\tmax-udp-size %d;", maxUDP)

	if limit := config.RateLimit; limit != nil {
		c.line("\trate-limit {")
		c.line("\t\tresponses-per-second %d;", limit.ResponsesPerSecond)
		if len(limit.ExemptClients) > 0 {
			c.line("\t\texempt-clients %s;", c.formatAddresses("rateLimit.exemptClients", limit.ExemptClients))
		}
		c.line("\t};")
	}

	// 4. The zones, listed in catalogs.
	s.writeCatalogs(c)
	c.line("};")
	s.writeCatalogZones(c)

	if len(s.HiddenPrimaries) > 0 {
		c.line("primaries %q %s;", class.HiddenPrimary, s.formatPrimaries(c, Catalog{Primaries: s.HiddenPrimaries}, netip.AddrPort{}))
	}
	for _, at := range s.UnkeyedPrimaries {
		// Only zones that name no key use this key.
		c.line("server %s { keys %q; };", at, s.Transfer.Name)
	}

	for i := range s.Policies {
		c.writePolicy(fmt.Sprintf("dnssec.policies[%d]", i), &s.Policies[i])
	}
	return c.String(), c.err
}

// Members are stored in StateDir, so that a restarted server answers without a primary.
func (s *Server) writeCatalogs(c *conf) {
	if len(s.Catalogs) == 0 {
		return
	}
	c.line("\tcatalog-zones {")
	for _, catalog := range s.Catalogs {
		text := c.formatZone(catalog.Zone)
		primaries := s.formatPrimaries(c, catalog, catalog.Signer)
		c.line("\t\tzone %q default-primaries %s zone-directory %q in-memory no min-update-interval 1;", text, primaries, StateDir)
	}
	c.line("\t};")
}

func (s *Server) writeCatalogZones(c *conf) {
	for _, catalog := range s.Catalogs {
		text := c.formatZone(catalog.Zone)
		c.line("zone %q {", text)
		c.line("\ttype secondary;")
		c.line("\tfile %q;", "catalog-"+Hash(map[string]string{"": text})[:16]+".db")
		c.line("\tprimaries %s;", s.formatPrimaries(c, catalog, netip.AddrPort{}))
		c.line("\tallow-query { none; };")
		c.line("};")
	}
}

// formatPrimaries returns a list of primaries, each with the server's key. A valid signer comes last: the hidden
// primary refuses signed zones, and BIND then asks the signer.
func (s *Server) formatPrimaries(c *conf, catalog Catalog, signer netip.AddrPort) string {
	if len(catalog.Primaries) == 0 {
		c.fail("", "catalog %s has no primary", catalog.Zone)
	}
	var list strings.Builder
	primaries := catalog.Primaries
	if signer.IsValid() {
		primaries = append(slices.Clone(primaries), signer)
	}
	for _, at := range primaries {
		// The zone of an IPv6 address may be any text, and must not get into named.conf (R2).
		if !at.IsValid() || at.Addr().Zone() != "" {
			c.fail("", "catalog %s has a primary that is no address", catalog.Zone)
			continue
		}
		fmt.Fprintf(&list, " %s port %d key %q;", at.Addr(), at.Port(), s.Transfer.Name)
	}
	return "{" + list.String() + " }"
}

var plainZones = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)+$`)

func (c *conf) formatZone(zone name.Name) string {
	text := strings.ToLower(zone.String())
	if !plainZones.MatchString(text) {
		c.fail("", "catalog zone %q: its name may have letters, digits, hyphens and underscores", text)
	}
	return text
}
