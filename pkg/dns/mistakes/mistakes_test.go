// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

const (
	rsa512 = "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeK" +
		"Ls1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ=="
	// The example of RFC 8463 §A.2.
	ed25519Key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
)

// S5.14: wrong values have the fault that is wanted, and right ones, as real zones have them, none.
func TestOfValue_S5_14(t *testing.T) {
	key := must.Get(rsa.GenerateKey(rand.Reader, 1024))(t)
	der := must.Get(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
	rsa1024 := base64.StdEncoding.EncodeToString(der)
	pkcs1 := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	tables := map[rdata.Type]string{
		rdata.TXT: `
# unquoted text has no escapes; quoted text has
_dmarc | v=DMARC1\; p=quarantine\; rua=mailto:d@example.org | has \; as a zone file
s._domainkey | v=DKIM1\; k=rsa\; p=` + rsa1024 + ` | read "v=DKIM1\\"
_mta-sts | v=STSv1\; id=1 | has \;
_smtp._tls | v=TLSRPTv1\; rua=mailto:a@example.org | has \;
default._bimi | v=BIMI1\; l=https://example.org/l.svg | has \;
www | v=spf1 -all\; x | has \;
_dmarc | "v=DMARC1\; p=quarantine\; rua=mailto:d@example.org" |
x | C:\;D:\; |

# SPF
example.org. | v=spf1 mx -all |
example.org. | V=SPF1 IP4:192.0.2.0/24 A:a.example.net/24//64 MX/24 ~ALL |
example.org. | v=spf1 ip6:2001:db8::/32 ip4:192.0.2.1 ?all |
example.org. | v=spf1 include:_spf.google.com include:spf.protection.outlook.com ~all |
example.org. | v=spf1 exists:%{i}._spf.mta.salesforce.com -all |
example.org. | v=spf1 exists:%{ir}.%{l1r+-}._spf.%{d} include:%{d2}.x.example.net a:%{h}/24 -all exp=explain._spf.%{d} |
example.org. | v=spf1 redirect=_spf.example.com |
example.org. | v=spf1 ptr:example.com ptr -all |
example.org. | v=spf1 mx unknown-modifier=%{i} -all |
_spf.example.org. | v=spf1 ip4:192.0.2.0/24 |
spf-a.example.org. | v=spf1 ip4:192.0.2.0/24 |
example.org. | "v=spf1 include:_spf.exa"  "mple.com -all" |
example.org. | v=spf1 inlcude:_spf.example.com -all | has "inlcude:_spf.example.com", which is no mechanism
example.org. | v=spf1 ip4:2001:db8::1 -all | ip4 has an IPv4 address
example.org. | v=spf1 ip6:192.0.2.1 -all | ip6 has an IPv6 address
example.org. | v=spf1 ip4:192.0.2.0/33 -all | ip4 has
example.org. | v=spf1 ip4:192.0.2.256 -all | ip4 has
example.org. | v=spf1 ip4 -all | ip4 has
example.org. | v=spf1 ip4=192.0.2.1 -all | which receivers ignore: write ip4:
example.org. | v=spf1 include=_spf.example.com -all | write include:
example.org. | v=spf1 include: -all | write it as in RFC 7208
example.org. | v=spf1 mx, -all | has "mx,", which is no mechanism
example.org. | v=spf1 mail.example.org -all | is no mechanism
example.org. | v=spf1 mx –all | is no mechanism
example.org. | v=spf1 - | is no mechanism
example.org. | v=spf1 mx -all. | is no mechanism
example.org. | "v=spf1 a" "mx -all" | has "amx"
example.org. | v=spf1 a mx | ends without all
example.org. | v=spf1 | ends without all
example.org. | v=spf1 redirect=_spf.example.com -all | has redirect and -all
example.org. | v=spf1 redirect= | without a domain
example.org. | v=spf1 redirect=a.example.com redirect=b.example.com | redirect twice
example.org. | v=spf1 -all mx | has "mx" behind -all
example.org. | v=spf1 +all | lets every host
example.org. | v=spf1 all | lets every host

# DMARC
_dmarc | v=DMARC1; p=none |
_dmarc | v=DMARC1 ; P=Reject ; sp=quarantine; pct=100; adkim=s; aspf=r; fo=1:d:s; ri=86400; |
_dmarc | v=DMARC1;p=reject;rua=mailto:a@example.org!10m,mailto:b@example.net;ruf=mailto:c@example.org |
_dmarc | v=DMARC1; p=none; rua=mailto:a@example.org, mailto:b@example.net, https://example.net/r |
_dmarc | v=DMARC1; sp=none; np=reject; p=none; t=y; psd=n; unknown=x |
a._report._dmarc | v=DMARC1 |
x._dmarc.example.net. | v=DMARC1; rua=x |
_dmarc | v=DMARC1; p=none; pct=200 | has pct=200
_dmarc | v=DMARC1; p=none; pct=-1 | has pct=-1
_dmarc | v=DMARC1; p=none; rua=a@example.org | rua is URIs, as mailto:ADDRESS
_dmarc | v=DMARC1; p=none; rua=mailto:a@example.org,b@example.org | rua is URIs
_dmarc | v=DMARC1; p=none; ruf=a@example.org | ruf is URIs
_dmarc | v=dmarc1; p=none | does not begin with "v=DMARC1;"
_dmarc | v=DMARC1 p=none | does not begin with
_dmarc | p=none; v=DMARC1 | does not begin with
_dmarc | DMARC | does not begin with
_dmarc | v=DMARC1; p=rejct | has p=rejct
_dmarc | v=DMARC1; p=none; sp=rejct | has sp=rejct
_dmarc | v=DMARC1; p=none; adkim=strict | adkim is r or s
_dmarc | v=DMARC1; rua=mailto:a@example.org | has no p
_dmarc | v=DMARC1; p=none; rua=mailto:a@example.org; mailto:b@example.org | separate URIs by a comma
_dmarc | v=DMARC1; p=none; rua=mailto:a@example.org; rua=mailto:b@example.org | has rua twice
_dmarc | v=DMARC1; p=none; rua=mailto:a@example.org ; ; sp=none; |
www | v=DMARC1; p=none | only at names that begin with _dmarc

# MTA-STS and TLS reporting
_mta-sts | v=STSv1; id=20160831085700Z; |
_mta-sts.mail | v=STSv1;id=1 |
_smtp._tls | v=TLSRPTv1;rua=mailto:reports@example.com,https://reporting.example.com/v1/tlsrpt |
_mta-sts | v=STSv1; | has no id
_mta-sts | v=STSv1; id=2016-08-31 | has id=2016-08-31
_mta-sts | v=STSV1; id=1 | does not begin with "v=STSv1;"
_smtp._tls | v=TLSRPTv1; rua=foo | has rua=foo
_smtp._tls | v=TLSRPTv1 | has no rua

# DKIM
s._domainkey | v=DKIM1; k=rsa; p=` + rsa1024 + ` |
s._domainkey | v=DKIM1; t=s; n=note; h=sha256; p=` + pkcs1 + ` |
s._domainkey | k=rsa; p=` + rsa1024 + ` |
s._domainkey | v=DKIM1; k=ed25519; p=` + ed25519Key + ` |
s._domainkey | v=DKIM1; p= |
s._domainkey | v=DKIM1; p=; |
s._domainkey | "v=DKIM1; k=rsa; p=` + rsa1024[:100] + `" "` + rsa1024[100:] + `" |
s._domainkey | v=DKIM1; k=future; p=AAAA |
_adsp._domainkey | dkim=all |
_domainkey | o=~; t=y |
s._domainkey | v=DKIM1; k=rsa; p=` + rsa512 + ` | has an RSA key of 512 bits
s._domainkey | k=rsa; p=` + rsa512 + ` | has an RSA key of 512 bits
s._domainkey | v=DKIM1; k=rsa; p=` + rsa1024[:120] + ` | whose end is missing
s._domainkey | v=DKIM1; k=ed25519; p=` + rsa1024 + ` | Ed25519 key of 162 octets instead of 32
s._domainkey | v=dkim1; p=` + rsa1024 + ` | has no "v=DKIM1;" as its first tag
s._domainkey | p=` + rsa1024 + `; v=DKIM1 | as its first tag
s._domainkey | v=DKIM1; p=!!! | no base64
www | v=DKIM1; p=` + rsa1024 + ` | only below _domainkey

# others
www | google-site-verification=abc |
www | all is well, and this is no policy -all | reads as an SPF policy
www | spf2.0/pra -all |
_acme-challenge | gfj9Xq...Rg85nM |
`,
		rdata.A: `
www | 192.0.2.1 |
www | 10.0.0.1 |
localhost | 127.0.0.1 |
*.local.dev | 127.0.0.1 |
loopback | 127.0.0.1 |
2.0.0.127.list | 127.0.0.2 |
www | 127.0.0.1 | is the machine that asks
www | 240.0.0.1 | is of a reserved network
www | 255.255.255.255 | is an address of many hosts
www | 0.0.0.0 | is the unspecified address
`,
		rdata.AAAA: `
www | 2001:db8::1 |
www | fc00::1 |
localhost | ::1 |
www | ::1 | is the machine that asks
`,
		rdata.CNAME: `
www | www.example.net. |
www | mylocalhost.example.net. |
localhost | localhost. |
www | localhost. | names the machine that asks
www | x.localhost. | names the machine that asks
www | https://www.example.net/ | reads as a URL
www | a.example.net.,b.example.net. | reads as several names
`,
		rdata.PTR: `
_ipp._tcp | HP,\032Room._ipp._tcp |
www | a.example.net.,b.example.net. | reads as several names
`,
		rdata.MX: `
@ | 10 mail.example.net. |
@ | 0 . |
@ | 10 localhost. | names the machine that asks
`,
		rdata.TLSA: `
_443._tcp | 3 1 1 ` + strings.Repeat("A", 64) + ` |
_443._tcp | 255 255 255 AA |
_443._tcp | 0 0 0 AA |
_443._tcp | 9 1 1 ` + strings.Repeat("A", 64) + ` | has the usage 9
_443._tcp | 3 2 1 ` + strings.Repeat("A", 64) + ` | has the selector 2
_443._tcp | 3 1 3 AA | has the matching type 3
`,
		rdata.SMIMEA: `
h._smimecert | 3 0 0 AA |
h._smimecert | 4 0 0 AA | has the usage 4
`,
		rdata.HTTPS: `
www | 1 . alpn="h2,h3" |
www | 1 . alpn=http/1.1 port=8443 ipv4hint=192.0.2.1 |
www | 1 . alpn=h3-29,h3 |
www | 0 svc.example.net. |
www | 1 . alpn=h22 | has the protocol h22
www | 1 . alpn="h2,htpp/1.1" | has the protocol htpp/1.1
`,
		rdata.SVCB: `
_dns | 1 dns.example.net. alpn=dot,doq,h2 |
_foo | 1 svc.example.net. alpn=h22 |
`,
	}
	rows := 0
	for rrtype, table := range tables {
		for line := range strings.Lines(table) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
				continue
			}
			fields := strings.SplitN(strings.TrimSuffix(line, " |"), " | ", 3)
			rows++
			want := strings.Join(fields[2:], "")
			got := OfValue(rrtype, fields[0], fields[1])
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%v at %s: %s\n%q, want %q", rrtype, fields[0], fields[1], got, want)
			}
			if got != "" && !strings.Contains(got, ": ") {
				t.Errorf("%q has no remedy", got)
			}
		}
	}
	if rows < 120 {
		t.Errorf("%d rows", rows)
	}
}

func TestOfOwner_S5_14(t *testing.T) {
	for _, test := range []struct {
		rrtype      rdata.Type
		owner, want string
	}{
		{rdata.TLSA, "_443._tcp.www", ""}, {rdata.TLSA, "*._tcp.www", ""}, {rdata.TLSA, "_dane.example.org.", ""},
		{rdata.TLSA, "tlsa201._dane.example.org.", ""}, {rdata.TLSA, "www", "_PORT._PROTOCOL"},
		{rdata.TLSA, "www.example.org.", "as _443._tcp"}, {rdata.TLSA, "@", "_PORT._PROTOCOL"},
		{rdata.SMIMEA, "h._smimecert", ""}, {rdata.SMIMEA, "h", "HASH._smimecert"},
		{rdata.OPENPGPKEY, "h._openpgpkey.example.org.", ""}, {rdata.OPENPGPKEY, "h.example.org.", "HASH._openpgpkey"},
		{rdata.A, "www", ""}, {rdata.PTR, "192.0.2.1.", "belong at 1.2.0.192.in-addr.arpa."},
		{rdata.A, "192.0.2.0/28.", "belong at 2.0.192.in-addr.arpa."}, {rdata.A, "2.0.0.127", ""},
	} {
		if got := OfOwner(test.rrtype, test.owner); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%v at %s: %q, want %q", test.rrtype, test.owner, got, test.want)
		}
	}
}

// Values of a tenant, cut anywhere, end no check.
func FuzzOfValue(f *testing.F) {
	f.Add(uint16(rdata.TXT), "_dmarc", "v=DMARC1; p=none; rua=")
	f.Add(uint16(rdata.TXT), "s._domainkey", "p=MIIB")
	f.Add(uint16(rdata.TXT), "@", "v=spf1 ip4: + = : /")
	f.Add(uint16(rdata.HTTPS), "@", "1 . alpn=")
	f.Add(uint16(rdata.TLSA), "", "9")
	f.Fuzz(func(_ *testing.T, rrtype uint16, owner, text string) {
		OfValue(rdata.Type(rrtype), owner, text)
		OfOwner(rdata.Type(rrtype), owner)
		OfValues(rdata.Type(rrtype), owner, []string{text, text})
	})
}
