// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	verifycmd "kubi.zone/kubizone/cmd/kubectl-kubizone/verify"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var transferKey = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: red.Secret}

func readPage(t *testing.T) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("../../../docs/dnssec.md"))(t)
	files := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(string(text), -1) {
		heading, _, _ := strings.Cut(section, "\n")
		if file := regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindStringSubmatch(section); file != nil {
			files[heading] = strings.ReplaceAll(file[1], `"..."`, fmt.Sprintf("%q", transferKey.Secret))
		}
	}
	return files
}

func replaceAddresses(file, format string, primary, signer, public netip.AddrPort) string {
	for there, here := range map[string]netip.AddrPort{"192.0.2.53": primary, "192.0.2.1": signer, "192.0.2.2": public} {
		file = regexp.MustCompile(regexp.QuoteMeta(there)+`\b`).ReplaceAllLiteralString(file, fmt.Sprintf(format, here.Addr(), here.Port()))
	}
	return file
}

// S6.14: with the configurations of docs/dnssec.md, a zone signed by a secondary is Ready after each change and each
// of ten re-signings. Our serial does not change meanwhile, and data altered by the signer is detected.
func TestZonesAreSignedBySecondaries(t *testing.T) {
	t.Parallel() // mostly waits
	files := readPage(t)
	for _, program := range []string{"Knot", "BIND"} {
		t.Run(program, func(t *testing.T) {
			ctx := rig.Within(t, 4*time.Minute)
			s := startServer(t)
			at := make([]netip.AddrPort, 2)
			for i := range at {

				at[i] = must.Get(rig.FreePort())(t)
			}
			signer, public := at[0], at[1]
			s.keepKey(t, "transfer", transferKey)
			class := &v1alpha1.DNSClass{}
			must.Succeed(t, yaml.UnmarshalStrict([]byte(replaceAddresses(files["DNSSEC"], "%s:%d", s.dns, signer, public)), class))
			class.Spec.AllowLocalAddresses = true
			if program == "BIND" {
				class.Spec.Transfer.Secondaries[0].Catalog = v1alpha1.CatalogIgnore
			}
			must.Get(s.KubizoneV1alpha1().DNSClasses().Create(ctx, class, metav1.CreateOptions{}))(t)
			s.makeZone(t, "org", "example.org.", class.Name)
			s.makeRecord(t, "www", "www.example.org.", "first")
			s.primaryHas(t, "example.org.", &transferKey)
			sign := startSigner(ctx, t, program, files[program], s.dns, signer, public)
			rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: public, Statements: replaceAddresses(files["Public servers"],
				"%s port %d", s.dns, signer, public)}))(t)

			s.waitForReady(t, "www")
			s.waitForCurrent(t, at)
			local := s.readSerial(t)
			proveSigned(t, public, "www.example.org.", mdns.TypeTXT)
			record := &v1alpha1.Record{}
			must.Succeed(t, yaml.UnmarshalStrict([]byte(files["DS in the parent"]), record))
			record.Namespace = "team"
			cut := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "dev-ns", Namespace: "team"}, Spec: v1alpha1.RecordSpec{DomainName: record.Spec.DomainName, Type: "NS", RData: "ns.example.net."}}
			for _, one := range []*v1alpha1.Record{cut, record} {
				must.Get(s.KubizoneV1alpha1().Records("team").Create(ctx, one, metav1.CreateOptions{}))(t)
				local = s.waitForReady(t, one.Name).Status.Serial
			}
			proveSigned(t, public, record.Spec.DomainName, mdns.TypeDS)
			for i := range 10 {
				before := serialAt(t, signer)
				sign("")
				waitUntil(t, func() (bool, string) {
					return serialAt(t, signer) != before, fmt.Sprintf("%s does not sign anew", program)
				})
				if i == 4 || i == 9 { // a zone is compared once in ten seconds
					s.waitForCurrent(t, at)
				}
				if now := s.readSerial(t); now != local {
					t.Fatalf("the serial of the zone went from %d to %d by a re-signing", local, now)
				}
				if i%4 != 3 {
					continue
				}
				s.changeRecord(t, "www", fmt.Sprintf("change %d", i))
				local = s.waitForReady(t, "www").Status.Serial
				for _, one := range at {
					if text, _, err := readTXT(one, "www.example.org."); err != nil || text != fmt.Sprintf("change %d", i) {
						t.Errorf("Ready, and %s answers %q (%v)", one, text, err)
					}
				}
			}
			verify := func() (string, error) {
				var out strings.Builder
				options := verifycmd.NewOptions()
				flags := pflag.NewFlagSet("verify", pflag.ContinueOnError)
				options.AddFlags(flags)
				must.Succeed(t, flags.Parse([]string{"--kubeconfig", s.kubeconfig, "--secrets-dir", s.findSecrets()}))
				err := options.Run(ctx, "team/org", &out, &out)
				return out.String(), err
			}
			if out, err := verify(); err != nil || strings.Count(out, "Current") != 2 {
				t.Errorf("verify: %v\n%s", err, out)
			}
			if program == "BIND" {
				return // BIND cannot alter data while signing
			}
			sign("www.example.org.")
			s.requestComparison(t)
			waitUntil(t, func() (bool, string) {
				row := s.findRow(t, signer)
				return row.State == v1alpha1.ServerBehind && strings.Contains(row.Message, "alters the zone"), s.describeDeliveries(t)
			})
			if out, err := verify(); err == nil || !strings.Contains(out, "192.0.2.99") || s.readSerial(t) != local {
				t.Errorf("verify of altered data: %v\n%s", err, out)
			}
		})
	}
}

// startSigner starts a server with a file of the page. sign re-signs the zone, and adds an address at the name
// forged, if set.
func startSigner(ctx context.Context, t *testing.T, program, file string, primary, signer, public netip.AddrPort) (sign func(forged string)) {
	t.Helper()
	do := func(run func(context.Context, ...string) (string, error), args ...string) {
		t.Helper()
		if out, err := run(ctx, args...); err != nil {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
	if program == "Knot" {
		knot, err := rig.StartKnot(ctx, rig.KnotConfig{Addr: signer, Sections: strings.ReplaceAll(replaceAddresses(file, "%s@%d", primary,
			signer, public), "/var/lib/knot", t.TempDir())})
		rig.SkipMissing(t, err)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("Knot says:\n%s", knot.Log())
			}
			knot.Close()
		})
		return func(forged string) {
			if forged == "" {
				do(knot.Knotc, "zone-sign", "example.org")
				return
			}
			do(knot.Knotc, "zone-begin", "example.org")
			do(knot.Knotc, "zone-set", "example.org", forged, "300", "A", "192.0.2.99")
			do(knot.Knotc, "zone-commit", "example.org")
		}
	}
	bind := rig.Need(rig.StartBIND(ctx, rig.BINDConfig{Addr: signer, Statements: replaceAddresses(file, "%s port %d", primary, signer,
		public)}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("BIND says:\n%s", bind.Log())
		}
		bind.Close()
	})
	return func(string) { do(bind.Rndc, "sign", "example.org") }
}

func (s *server) primaryHas(t *testing.T, zone string, key *rig.TSIGKey) {
	t.Helper()
	waitUntil(t, func() (bool, string) {
		_, err := transferZone(t, s.dns, zone, key)
		return err == nil, fmt.Sprint(err)
	})
}

func (s *server) readSerial(t *testing.T) int64 {
	t.Helper()
	zone := must.Get(s.KubizoneV1alpha1().Zones("team").Get(t.Context(), "org", metav1.GetOptions{}))(t)
	return zone.Status.Serial
}

// waitForCurrent requests a comparison, and waits until all servers are current with serials of their own.
func (s *server) waitForCurrent(t *testing.T, servers []netip.AddrPort) {
	t.Helper()
	request := s.requestComparison(t)
	local := s.readSerial(t)
	waitUntil(t, func() (bool, string) {
		status := s.getDelivery(t).Status
		return status.LastVerifyRequest == request && len(status.Servers) == len(servers) && !slices.ContainsFunc(status.Servers, func(row v1alpha1.DeliveryServer) bool {
			return row.State != v1alpha1.ServerCurrent || row.Serial != local || !strings.Contains(row.Message, fmt.Sprint(local))
		}), s.describeDeliveries(t)
	})
}

func (s *server) getDelivery(t *testing.T) *v1alpha1.Delivery {
	t.Helper()
	list, err := s.KubizoneV1alpha1().Deliveries("team").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d Deliveries, %v", len(list.Items), err)
	}
	return &list.Items[0]
}

func (s *server) findRow(t *testing.T, at netip.AddrPort) v1alpha1.DeliveryServer {
	t.Helper()
	rows := s.getDelivery(t).Status.Servers
	i := slices.IndexFunc(rows, func(row v1alpha1.DeliveryServer) bool { return row.Name == at.String() })
	if i < 0 {
		t.Fatalf("no row of %s: %+v", at, rows)
	}
	return rows[i]
}

func (s *server) requestComparison(t *testing.T) (request string) {
	t.Helper()
	request = fmt.Sprint(time.Now().UnixNano())
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationVerifyRequestedAt, request)
	must.Get(s.KubizoneV1alpha1().Zones("team").Patch(t.Context(), "org", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	return request
}

func serialAt(t *testing.T, at netip.AddrPort) uint32 {
	t.Helper()
	question := new(mdns.Msg).SetQuestion("example.org.", mdns.TypeSOA)
	question.RecursionDesired = false
	answer, _, err := (&mdns.Client{Timeout: 15 * time.Second}).Exchange(question, at.String())
	if err != nil {
		return 0
	}
	for _, rr := range answer.Answer {
		if soa, ok := rr.(*mdns.SOA); ok {
			return soa.Serial
		}
	}
	return 0
}

func proveSigned(t *testing.T, at netip.AddrPort, fqdn string, of uint16) {
	t.Helper()
	keys, _, err := askSigned(at, "example.org.", mdns.TypeDNSKEY)
	set, signatures, failure := askSigned(at, fqdn, of)
	must.Succeed(t, errors.Join(err, failure))
	for _, signature := range signatures {
		for _, rr := range keys {
			if key, ok := rr.(*mdns.DNSKEY); ok && key.KeyTag() == signature.KeyTag && signature.Verify(key, set) == nil {
				return
			}
		}
	}
	t.Errorf("no key of %v signs %v by %v", keys, set, signatures)
}
