// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/signing"
	primarycmd "kubi.zone/kubizone/pkg/cmd/primary"
	"kubi.zone/kubizone/pkg/cmd/up"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/alertrig"
)

const waitTimeout = 2 * time.Minute

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// server is a `kubizone up` that serves zones only to peers of classes.
type server struct {
	versioned.Interface
	dir, kubeconfig string
	dns             netip.AddrPort
	parentServers   signing.ParentServers // nil: those found by the system's resolver
	stop            func()
}

// runUntilEnd calls run until the test ends or stop is called, and returns the group of a line of output.
func runUntilEnd(t *testing.T, out *output, line string, run func(context.Context) error) (found string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("told to stop, it ends with %v", err)
		}
	})
	t.Cleanup(stop)
	expression := regexp.MustCompile("(?m)" + line)
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if match := expression.FindStringSubmatch(out.String()); match != nil {
			return match[1], stop
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, out)
		default:
		}
	}
	t.Fatalf("no line matches %s in\n%s", line, out)
	return "", nil
}

func startServer(t *testing.T) *server {
	t.Helper()
	return startBelow(t, nil)
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
	options := up.NewOptions()
	options.DataDir, options.Listen, options.DNSListen, options.SecretsDir = filepath.Join(s.dir, "data"), "127.0.0.1:0", s.dns.String(),
		s.findSecrets()
	options.TransferAllow = nil
	out := &output{}
	config := must.Get(options.Complete(out))(t)
	if s.parentServers != nil {
		config.ParentServers = s.parentServers
	}
	_, s.stop = runUntilEnd(t, out, `^(ready): `, config.Run)
	s.kubeconfig = filepath.Join(options.DataDir, "kubeconfig")
	client := must.Get(clientcmd.BuildConfigFromFlags("", s.kubeconfig))(t)
	client.QPS = -1
	s.Interface = must.Get(versioned.NewForConfig(client))(t)
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

func (s *server) startPrimary(t *testing.T) (at netip.AddrPort, stop func()) {
	t.Helper()
	o := primarycmd.NewOptions()
	flags := pflag.NewFlagSet("primary", pflag.ContinueOnError)
	o.AddFlags(flags)
	must.Succeed(t, flags.Parse([]string{"--dns-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--transfer-allow", "",
		"--kubeconfig", s.kubeconfig, "--secrets-dir", s.findSecrets()}))
	out := &output{}
	config := must.Get(o.Complete(out))(t)
	text, stop := runUntilEnd(t, out, `^ready: DNS on (\S+)$`, config.Run)
	return netip.MustParseAddrPort(text), stop
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
