// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/verify"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
	"kubi.zone/kubizone/test/store"
)

type api struct {
	t          *testing.T
	kubeconfig string
	versioned.Interface
}

func startAPI(t *testing.T, changes ...func(*up.Options)) *api {
	t.Helper()
	server := standalone.Start(t, changes...)
	a := &api{t: t, kubeconfig: server.Kubeconfig, Interface: server}
	a.makeZone("org", v1alpha1.ZoneSpec{DomainName: "example.org.", TTL: ptr.To[int32](3600)})
	// A child with glue in the zone: a server refers to the child.
	a.makeZone("dev", v1alpha1.ZoneSpec{DomainName: "dev.example.org."})
	for name, spec := range map[string]v1alpha1.RecordSpec{
		"www":   {DomainName: "www.example.org.", Type: "A", Values: []string{"192.0.2.2", "192.0.2.1"}},
		"txt":   {DomainName: "txt.example.org.", Type: "TXT", TTL: ptr.To[int32](60), RData: `"two; words" "\"quoted\""`},
		"alias": {DomainName: "alias.example.org.", Type: "CNAME", RData: "www.example.org."},
		"any":   {DomainName: "*.example.org.", Type: "MX", RData: "10 www.example.org."},
		"mx":    {DomainName: "@", ZoneRef: &v1alpha1.ZoneReference{Name: "org"}, Type: "MX", RData: "10 WWW.Example.ORG."},
	} {
		a.makeRecord(name, spec)
	}
	return a
}

func (a *api) makeZone(name string, spec v1alpha1.ZoneSpec) {
	a.t.Helper()
	spec.NameServers = []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53", "2001:db8::53"}}, {Name: "ns.example.net."}}
	spec.Delegations = []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}}, Zones: []string{"*"}}}
	must.Get(a.KubizoneV1alpha1().Zones("a").Create(a.t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		metav1.CreateOptions{}))(a.t)
}

func (a *api) makeRecord(name string, spec v1alpha1.RecordSpec) {
	a.t.Helper()
	must.Get(a.KubizoneV1alpha1().Records("a").Create(a.t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: spec}, metav1.CreateOptions{}))(a.t)
}

func (a *api) exportZone() string {
	a.t.Helper()
	stream := must.Get(load.OpenEntries(a.t.Context(), a, apitypes.NamespacedName{Namespace: "a", Name: "org"}))(a.t)
	defer stream.Close()
	text := must.Get(io.ReadAll(stream))(a.t)
	return string(text)
}

func (a *api) runVerify(arguments ...string) (out string, err error) {
	a.t.Helper()
	command := verify.NewCommand()
	var text, remarks bytes.Buffer
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{"a/org", "--kubeconfig", a.kubeconfig}, arguments...))
	command.SetOut(&text)
	command.SetErr(&remarks)
	err = command.ExecuteContext(a.t.Context())
	a.t.Logf("%q: %v\n%s%s", arguments, err, &text, &remarks)
	return text.String(), err
}

func (a *api) readResult(want error, arguments ...string) (r struct {
	Serial  uint32
	RRsets  int
	Servers []struct {
		Server, State, By, Error string

		Serial           uint32
		Missing, Foreign []struct{ Name, Type string }
		Differing        []struct {
			Zone, Server struct {
				Name, Type string
				TTL        uint32
				Data       []string
			}
		}
	}
}) {
	a.t.Helper()
	out, err := a.runVerify(append(arguments, "-o", "json")...)
	if !errors.Is(err, want) {
		a.t.Errorf("it ends with %v, not with %v", err, want)
	}
	must.Succeed(a.t, json.Unmarshal([]byte(out), &r))
	return r
}

var key = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "bmljZSBrZXkgZm9yIGEgdGVzdCBvZiB0cmFuc2ZlcnM="}

func startBIND(t *testing.T, text string) string {
	t.Helper()
	primaries := []rig.PrimaryZone{{Zone: "example.org.", Text: text}}
	return rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Primaries: primaries}))(t).Addr.String()
}

func startKnot(t *testing.T, text string, key *rig.TSIGKey) string {
	t.Helper()
	zones := []rig.PrimaryZone{{Zone: "example.org.", Text: text}}
	return rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: key, Zones: zones}))(t).Addr.String()
}

// BIND and Knot: equal; behind; with a foreign RRset and another TTL; without the right to transfer; unreachable.
func TestVerify_reportsTheSerialOfEachServer(t *testing.T) {
	a := startAPI(t)
	text := a.exportZone()
	altered := strings.Replace(text, "txt.example.org.\t60\t", "txt.example.org.\t61\t", 1) + "foreign.example.org.\t60\tIN\tTXT\t\"not ours\"\n"
	if altered == text+"foreign.example.org.\t60\tIN\tTXT\t\"not ours\"\n" {
		t.Fatalf("no TXT in\n%s", text)
	}
	keyFile := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(keyFile, []byte(key.Statement()), 0o600))
	servers := map[string][2]string{ // equal, altered
		"BIND": {startBIND(t, text), startBIND(t, altered)},
		"Knot": {startKnot(t, text, nil), startKnot(t, altered, nil)},
	}
	signed := startKnot(t, altered, &key)

	for name, at := range servers {
		r := a.readResult(nil, "--name-server", at[0])
		if s := r.Servers[0]; s.State != "Current" || s.By != "transfer" || s.Serial != r.Serial {
			t.Errorf("%s, equal: %+v", name, s)
		}
		r = a.readResult(verify.ErrDifferent, "--name-server", at[1])
		s := r.Servers[0]
		if s.State != "Differs" || len(s.Missing) != 0 || len(s.Foreign) != 1 || s.Foreign[0].Name != "foreign.example.org." || len(s.Differing) != 1 ||
			s.Differing[0].Zone.Name != "txt.example.org." || s.Differing[0].Zone.TTL != 60 || s.Differing[0].Server.TTL != 61 {
			t.Errorf("%s, altered: %+v", name, s)
		}
	}

	// Knot transfers the zone only with the key.
	s := a.readResult(verify.ErrDifferent, "--name-server", signed).Servers[0]
	if s.State != "Differs" || s.By != "questions" || len(s.Missing) != 0 || len(s.Foreign) != 0 || len(s.Differing) != 1 || s.Differing[0].Server.Name != "txt.example.org." {
		t.Errorf("by questions: %+v", s)
	}
	if s = a.readResult(verify.ErrDifferent, "--name-server", signed, "--tsig-key-file", keyFile).Servers[0]; s.By != "transfer" ||
		len(s.Foreign) != 1 {
		t.Errorf("with the key: %+v", s)
	}

	a.makeRecord("late", v1alpha1.RecordSpec{DomainName: "late.example.org.", Type: "A", RData: "192.0.2.9"})
	for name, at := range servers {
		r := a.readResult(verify.ErrDifferent, "--name-server", at[0])
		s := r.Servers[0]
		if s.State != "Behind" || s.Serial == r.Serial || len(s.Missing) != 1 || s.Missing[0].Name != "late.example.org." || len(s.Foreign)+len(s.Differing) != 0 {
			t.Errorf("%s, behind: %+v", name, s)
		}
	}

	closed := must.Get(rig.FreePort())(t)
	out, err := a.runVerify("--name-server", closed.String(), "--name-server", servers["BIND"][1])
	if !errors.Is(err, verify.ErrDifferent) {
		t.Errorf("it ends with %v", err)
	}
	must.Say(t, out, "zone example.org. of a/org: serial ", closed.String()+"  Failed", "connection refused",
		"foreign foreign.example.org. TXT: 60 \"not ours\"", "missing late.example.org. A: 3600 192.0.2.9",
		"differs txt.example.org. TXT: 61 ")
}

func TestVerify_refusesWhatItCannotMean(t *testing.T) {
	kubeconfig := must.WriteKubeconfig(t, "https://192.0.2.1")
	for _, arguments := range [][]string{
		{"org", "-o", "table", "--kubeconfig", os.DevNull},
		{"a/org", "-n=b", "--kubeconfig", kubeconfig},
		{"org", "--name-server", "192.0.2.53:", "--kubeconfig", os.DevNull},
		{"org", "--tsig-key-file", filepath.Join(t.TempDir(), "none"), "--kubeconfig", os.DevNull},
	} {
		command := verify.NewCommand()
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs(arguments)
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		err := command.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(arguments[1], "=b")) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}

// While a zone is held back after a mass deletion, servers rightly have the content from before. So `verify` compares
// them with the settled serial, not with the newest (S7.5, S7.8).
func TestVerify_comparesWithWhatIsDelivered_S7_8(t *testing.T) {
	clock := store.Clock{}
	apiserver.Faults.Now = clock.Now
	t.Cleanup(func() { apiserver.Faults.Now = nil })
	a := startAPI(t)
	for i := range 20 {
		a.makeRecord(fmt.Sprint("r", i), v1alpha1.RecordSpec{DomainName: fmt.Sprintf("r%d.example.org.", i), Type: "TXT",
			RData: fmt.Sprintf(`"two; words" "%d"`, i)})
	}
	zone := func() *v1alpha1.Zone {
		t.Helper()
		return must.Get(a.KubizoneV1alpha1().Zones("a").Get(t.Context(), "org", metav1.GetOptions{}))(t)
	}
	clock.PassPeriods()
	var settled string
	for i := range 20 {
		if z := zone(); z.Status.SettledSerial == z.Status.Serial {
			settled = a.exportZone()
		}
		must.Succeed(t, a.KubizoneV1alpha1().Records("a").Delete(t.Context(), fmt.Sprint("r", i), metav1.DeleteOptions{}))
	}
	// An RRset loses one value and changes its TTL; another RRset is new.
	must.Get(a.KubizoneV1alpha1().Records("a").Patch(t.Context(), "www", apitypes.MergePatchType,
		[]byte(`{"spec":{"values":["192.0.2.3","192.0.2.1"],"ttl":77}}`), metav1.PatchOptions{}))(t)
	a.makeRecord("new", v1alpha1.RecordSpec{DomainName: "new.example.org.", Type: "A", RData: "192.0.2.9"})
	z := zone()
	if z.Status.SettledSerial == z.Status.Serial {
		t.Fatal("the zone is not held")
	}
	held := startBIND(t, settled)
	r := a.readResult(nil, "--name-server", held)
	if r.Servers[0].State != "Current" || int64(r.Serial) != z.Status.SettledSerial {
		t.Errorf("%+v", r)
	}
	line := fmt.Sprintf("serial %d, %d RRsets; the zone is at serial %d, which is not delivered: MassDeletion, as its condition Settled says", z.Status.SettledSerial, r.RRsets, z.Status.Serial)
	if out, _ := a.runVerify("--name-server", held); !strings.Contains(out, line) {
		t.Errorf("it does not say %q", line)
	}
	if r := a.readResult(verify.ErrDifferent, "--name-server", startBIND(t, a.exportZone())); r.Servers[0].State != "Ahead" {
		t.Errorf("%+v", r)
	}
}

// While `verify` compares, the zone changes, and a server already has the change. The comparison is then repeated with
// the new zone, and the result shows the zone that was compared last.
func TestVerify_showsTheZoneItComparedLast(t *testing.T) {
	a := startAPI(t)
	_, err := rig.Find("named", "the package bind9")
	rig.SkipMissing(t, err)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		at := ""
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			if at == "" {
				a.makeRecord("new", v1alpha1.RecordSpec{DomainName: "new.example.org.", Type: "A", RData: "192.0.2.9"})
				zones := []rig.PrimaryZone{{Zone: "example.org.", Text: a.exportZone()}}
				newer, err := rig.StartBIND(t.Context(), rig.BINDConfig{Primaries: zones})
				if err != nil {
					t.Error(err)
					in.Close()
					return
				}
				t.Cleanup(func() { newer.Close() })
				at = newer.Addr.String()
			}
			out, err := net.Dial("tcp", at)
			if err != nil {
				t.Error(err)
				in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); out.Close() }()
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	r := a.readResult(nil, "--name-server", listener.Addr().String())
	now := must.Get(a.KubizoneV1alpha1().Zones("a").Get(t.Context(), "org", metav1.GetOptions{}))(t).Status
	if r.Servers[0].State != "Current" || r.Serial != r.Servers[0].Serial || int64(r.Serial) != now.Serial || r.RRsets != 13 {
		t.Errorf("%+v, the zone is at serial %d", r, now.Serial)
	}
}
