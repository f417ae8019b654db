// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// bindForm is a common zone file: named.conf has the zone's name.
const bindForm = "$TTL 300\n@ IN SOA ns host 1 7200 3600 1209600 300\n@ NS ns\nns A 192.0.2.1\n"

const intoZone = "into zone example.org. (team/example.org)"

func TestLoad_findsTheOriginOfABINDFile(t *testing.T) {
	for _, tc := range []struct {
		what, file, before, text, zone, want string
	}{
		{"NAME.zone", "example.org.zone", "", bindForm, "example.org.", "example.org. is assumed, from the name of the file"},
		{"NAME.db", "Example.ORG.db", "", bindForm, "example.org.", "from the name of the file"},
		{"db.NAME", "db.2.0.192.in-addr.arpa", "", bindForm, "2.0.192.in-addr.arpa.", "from the name of the file"},
		{"NAME=PATH", "zone.txt", "example.org=", bindForm, "example.org.", intoZone},
		{"NAME=PATH before the name of the file", "example.net.zone", "example.org=", bindForm, "example.org.", intoZone},
		{"VIEW=NAME=PATH", "zone.txt", "inside=example.org=", bindForm, "example.org.", intoZone},
		{"$ORIGIN before all", "example.net.zone", "", "$ORIGIN example.org.\n" + bindForm, "example.org.", intoZone},
		{"an absolute SOA before the name of the file", "zone.zone", "", strings.Replace(bindForm, "@", "example.org.", 1), "example.org.",
			intoZone},
	} {
		t.Run(tc.what, func(t *testing.T) {
			path := must.WriteFile(t, filepath.Join(t.TempDir(), tc.file), tc.text)
			source := must.Get(ParseSource(tc.before + path))(t)
			l := newLab(t, fake.NewSimpleClientset())
			if got, err := l.Load(t.Context(), source); err != nil || got != (Result{Written: 3}) {
				t.Errorf("%+v, %v", got, err)
			}
			zones, err := l.server.KubizoneV1alpha1().Zones("team").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(zones.Items) != 1 || zones.Items[0].Spec.DomainName != tc.zone {
				t.Errorf("%+v, %v", zones, err)
			}
			if !l.hasReceived(tc.want) || strings.Contains(tc.want, "into zone") && l.hasReceived("is assumed") {
				t.Errorf("%q: said %q", tc.want, l.messages)
			}
		})
	}
}

// A zone file without an origin is not loaded. The error names the ways to give the origin; an origin given twice must
// agree.
func TestLoad_saysHowToSayTheOrigin(t *testing.T) {
	for source, wants := range map[string][]string{
		"db.127":               {`name "@"`, "$ORIGIN NAME.", "db.NAME", "NAME=PATH"},
		"1.168.192.db":         {`name "@"`, "NAME=PATH"},
		"zone.txt":             {`name "@"`, "--origin NAME"},
		"db.":                  {`name "@"`},
		"example.net=full.txt": {"the file is of zone example.org., and its argument names example.net."},
	} {
		before, file, found := strings.Cut(source, "=")
		if !found {
			before, file = "", source
		}
		text := bindForm
		if file == "full.txt" {
			text = "$ORIGIN example.org.\n" + bindForm
		}
		s := Source{Path: must.WriteFile(t, filepath.Join(t.TempDir(), file), text)}
		if before != "" {
			s.Origin = name.MustParse(before + ".")
		}
		l := newLab(t, fake.NewSimpleClientset())
		_, err := l.Load(t.Context(), s)
		for _, want := range wants {
			if (err == nil || !strings.Contains(err.Error(), want)) && !l.hasReceived(want) {
				t.Errorf("%s: %v and %q, want %q", source, err, l.messages, want)
			}
		}
		if l.hasReceived("there is no SOA") || len(l.takeWrites()) > 0 {
			t.Errorf("%s: %q", source, l.messages)
		}
	}
}

// Cloudflare writes the SOA's owner without its last dot, so by RFC 1035 §5.1 its file is of cf.test.cf.test, or of
// cf.test.export if its name is export.zone.
func TestImport_takesCloudflaresSOA(t *testing.T) {
	const file = ";; SOA Record\ncf.test\t3600\tIN\tSOA\tada.ns.cloudflare.com. dns.cloudflare.com. 1 10000 2400 604800 3600\n" +
		"cf.test.\t86400\tIN\tNS\tada.ns.cloudflare.com.\ncf.test.\t300\tIN\tA\t192.0.2.1 ; cf_tags=cf-proxied:true\n"
	l := newLab(t, fake.NewSimpleClientset())
	target := Target{Zone: types.NamespacedName{Namespace: "team", Name: "cf"}, Namespace: "team", CreateZone: true}
	for text, want := range map[string]string{
		strings.ReplaceAll(file, "\ncf.test.\t", "\n@\t"):      "--origin NAME", // no absolute owner
		strings.ReplaceAll(file, "\ncf.test.\t", "\nother.\t"): "the SOA is of zone cf.test.export., and no other record is in it",
	} {
		path := "cf.test.txt"
		if strings.Contains(text, "other.") {
			path = "export.zone"
		}
		if _, err := l.Import(t.Context(), path, []byte(text), target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	for _, what := range []string{"made", "there"} {
		want := map[string]Result{"made": {Written: 3}, "there": {Present: 3}}[what]
		if got, err := l.Import(t.Context(), "export.zone", []byte(file), target); err != nil || got != want {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		zone := must.Get(l.server.KubizoneV1alpha1().Zones("team").Get(t.Context(), "cf", metav1.GetOptions{}))(t)
		if zone.Spec.DomainName != "cf.test." {
			t.Errorf("%s: zone %s", what, zone.Spec.DomainName)
		}
		if !l.hasReceived(`warning: export.zone:2: the owner "cf.test" lacks its last dot`) {
			t.Errorf("%s: said %q", what, l.messages)
		}
		l.messages = nil
	}

	// A file of another zone is refused by its own name, not by both.
	const shop = "shop.example."
	other := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop"}, Spec: v1alpha1.ZoneSpec{DomainName: shop,
		TTL: ptr.To[int32](300), MinimumSerial: ptr.To[int64](1)}}
	must.Get(l.server.KubizoneV1alpha1().Zones("team").Create(t.Context(), other, metav1.CreateOptions{}))(t)
	target.Zone.Name = "shop"
	for _, target.Origin = range []name.Name{{}, name.MustParse(shop)} {
		_, err := l.Import(t.Context(), "export.zone", []byte(file), target)
		const want = "the file is of zone cf.test. (line 2), and team/shop is zone shop.example.: "
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--origin %q: %v, want %s", target.Origin, err, want)
		}
	}
	source := Source{Path: must.WriteFile(t, filepath.Join(t.TempDir(), "export.zone"), file), Origin: name.MustParse(shop)}
	_, err := l.Load(t.Context(), source)
	if want := "the file is of zone cf.test., and its argument names shop.example."; !l.hasReceived(want) {
		t.Errorf("%s: %v and %q, want %s", source, err, l.messages, want)
	}
}
