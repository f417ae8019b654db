// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
	"kubi.zone/kubizone/test/standalone"
)

const waitTimeout = 2 * time.Minute

// server is a `kubizone up` that serves zones only to peers of classes.
type server struct {
	versioned.Interface
	dir, kubeconfig string
	dns             netip.AddrPort
	parentServers   signing.ParentServers
	stop            func()
}

func startServer(t *testing.T) *server {
	t.Helper()
	return startBelow(t, signing.LookupParentServers(net.DefaultResolver))
}

func startBelow(t *testing.T, parentServers signing.ParentServers) *server {
	t.Helper()
	dns := must.Get(rig.FreePort())(t)
	s := &server{dir: t.TempDir(), dns: dns, parentServers: parentServers}
	must.Succeed(t, os.Mkdir(s.findSecrets(), 0o700))
	s.startUp(t)
	return s
}

func (s *server) startUp(t *testing.T) {
	t.Helper()
	rig.SpareGarbage()
	running := standalone.StartWith(t, s.parentServers, func(options *up.Options) {
		options.DataDir, options.DNSListen, options.SecretsDir = filepath.Join(s.dir, "data"), s.dns.String(), s.findSecrets()
		options.TransferAllow = nil
	})
	s.Interface, s.kubeconfig, s.stop = running.Interface, running.Kubeconfig, running.Stop
}

func (s *server) readMetrics(t *testing.T) string {
	t.Helper()
	return string(must.Get(s.KubizoneV1alpha1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context()))(t))
}

// expectAlert judges an alert while the metrics last, 0 for an hour.
func expectAlert(t *testing.T, metrics string, lasts time.Duration, alert string, want ...string) {
	t.Helper()
	now := alertrig.Series{}
	now.AddScrape("kubizone-apiserver", "up", metrics)
	alertrig.State{Now: now, Lasts: lasts}.ExpectOf(t, alert, want...)
}

func (s *server) findSecrets() string { return filepath.Join(s.dir, "secrets") }

func (s *server) startPrimary(t *testing.T, program string) (at netip.AddrPort, stop func()) {
	t.Helper()
	p := rig.RunProcess(t, program, "primary", "--dns-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--transfer-allow", "",
		"--kubeconfig", s.kubeconfig, "--secrets-dir", s.findSecrets())
	ready := regexp.MustCompile(`(?m)^ready: DNS on (\S+)$`)
	waitUntil(t, func() (bool, string) { return ready.MatchString(p.Log()), p.Log() })
	return netip.MustParseAddrPort(ready.FindStringSubmatch(p.Log())[1]), p.End
}

func (s *server) keepKey(t *testing.T, secret string, key rig.TSIGKey) *v1alpha1.SecretReference {
	t.Helper()
	dir := filepath.Join(s.findSecrets(), "dns", secret)
	must.Succeed(t, os.MkdirAll(dir, 0o700))
	for file, text := range map[string]string{"name": key.Name, "algorithm": key.Algorithm, "secret": key.Secret} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	return &v1alpha1.SecretReference{Namespace: "dns", Name: secret}
}

func (s *server) makeClass(t *testing.T, name string, block v1alpha1.TransferProvider) {
	t.Helper()
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Views: []string{"*"}, Namespaces: &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}, Transfer: &block,
	}}
	must.Get(s.KubizoneV1alpha1().DNSClasses().Create(t.Context(), of, metav1.CreateOptions{}))(t)
}

func (s *server) makeZone(t *testing.T, object, fqdn string, classes ...string) {
	t.Helper()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: object, Namespace: "team"}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: fqdn, NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
		Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	for _, class := range classes {
		zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: class})
	}
	must.Get(s.KubizoneV1alpha1().Zones("team").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
}

func (s *server) makeRecord(t *testing.T, object, fqdn, text string) {
	t.Helper()
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object, Namespace: "team"}, Spec: v1alpha1.RecordSpec{DomainName: fqdn, Type: "TXT", RData: text}}
	must.Get(s.KubizoneV1alpha1().Records("team").Create(t.Context(), record, metav1.CreateOptions{}))(t)
}

func (s *server) changeRecord(t *testing.T, object, text string) {
	t.Helper()
	patch := must.Get(json.Marshal(map[string]any{"spec": map[string]any{"rdata": text}}))(t)
	must.Get(s.KubizoneV1alpha1().Records("team").Patch(t.Context(), object, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
}

func waitUntil(t *testing.T, fact func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		ok, instead := fact()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(instead)
		}
	}
}

func (s *server) waitForReady(t *testing.T, object string) *v1alpha1.Record {
	t.Helper()
	var record *v1alpha1.Record
	waitUntil(t, func() (bool, string) {
		var err error
		if record, err = s.KubizoneV1alpha1().Records("team").Get(t.Context(), object, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		is := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
		return is != nil && is.Status == metav1.ConditionTrue && is.ObservedGeneration == record.Generation,
			fmt.Sprintf("Ready of %s: %+v; %s", object, is, s.describeDeliveries(t))
	})
	return record
}

func (s *server) describeDeliveries(t *testing.T) string {
	list, err := s.KubizoneV1alpha1().Deliveries("team").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, one := range list.Items {
		fmt.Fprintf(&text, "\n%s of %s: %+v", one.Spec.Zone.Name, one.Spec.ClassRef.Name, one.Status)
	}
	return text.String()
}

func readTXT(at netip.AddrPort, fqdn string) (text string, there bool, err error) {
	question := new(mdns.Msg)
	question.SetQuestion(fqdn, mdns.TypeTXT)
	question.RecursionDesired = false
	answer, _, err := (&mdns.Client{Timeout: 15 * time.Second}).Exchange(question, at.String())
	if err != nil {
		return "", false, err
	}
	for _, rr := range answer.Answer {
		if txt, ok := rr.(*mdns.TXT); ok {
			text = txt.Txt[0]
		}
	}
	return text, answer.Authoritative, nil
}

func transferZone(t *testing.T, at netip.AddrPort, zone string, key *rig.TSIGKey) (string, error) {
	t.Helper()
	source := transfer.Source{Server: at.String(), Zone: name.MustParse(zone)}
	if key != nil {
		keys := must.Get(tsig.ParseKeys(key.Statement()))(t)
		source.Key = &transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
	}
	text, err := transfer.Receive(t.Context(), source)
	return string(text), err
}
