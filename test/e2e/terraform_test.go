// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// recordSet is a resource of Terraform's provider dns (v3.4, internal/provider/resource_dns_*_record_set.go). It sends
// the messages of that provider, whose module no proxy has: an update without prerequisites, then a question at the
// name, both signed and over TCP.
type recordSet struct {
	t                *testing.T
	server           string
	key              rig.TSIGKey
	zone, owner, typ string
	ttl              int
}

func (r recordSet) sendMessage(m *mdns.Msg) *mdns.Msg {
	r.t.Helper()
	m.RecursionDesired = false
	m.SetTsig(r.key.Name, mdns.HmacSHA256, 300, time.Now().Unix())
	client := &mdns.Client{Net: "tcp", Timeout: time.Minute, TsigSecret: map[string]string{r.key.Name: r.key.Secret}}
	answer, _, err := client.ExchangeContext(r.t.Context(), m, r.server)
	must.Succeed(r.t, err)
	return answer
}

func (r recordSet) makeRecords(values []string) (rrs []mdns.RR) {
	for _, value := range values {
		rrs = append(rrs, must.Get(mdns.NewRR(fmt.Sprintf("%s %d %s %s", r.owner, r.ttl, r.typ, value)))(r.t))
	}
	return rrs
}

// changeSet sends the update of a create or change, and returns its response code.
func (r recordSet) changeSet(remove, add []string) string {
	r.t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate(r.zone)
	for _, rr := range r.makeRecords(remove) {
		m.Remove([]mdns.RR{rr})
	}
	for _, rr := range r.makeRecords(add) {
		m.Insert([]mdns.RR{rr})
	}
	return mdns.RcodeToString[r.sendMessage(m).Rcode]
}

func (r recordSet) destroySet() string {
	r.t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate(r.zone)
	m.RemoveRRset([]mdns.RR{must.Get(mdns.NewRR(r.owner + " 0 " + r.typ))(r.t)})
	return mdns.RcodeToString[r.sendMessage(m).Rcode]
}

// refreshSet returns TTL and data as Terraform's state gets them, sorted; empty when the resource is gone.
func (r recordSet) refreshSet() string {
	r.t.Helper()
	m := new(mdns.Msg)
	m.SetQuestion(r.owner, mdns.StringToType[r.typ])
	var lines []string
	for _, rr := range r.sendMessage(m).Answer {
		lines = append(lines, strings.TrimPrefix(rr.String(), rr.Header().Name+"\t"))
	}
	slices.Sort(lines)
	return strings.Join(strings.Fields(strings.Join(lines, "; ")), " ")
}

// findZone returns the zone of a name for `terraform import`: the first name, from the record upwards, whose SOA is
// answered. Another code than NXDOMAIN ends the walk.
func (r recordSet) findZone() string {
	r.t.Helper()
	for off, end := 0, false; !end; off, end = mdns.NextLabel(r.owner, off) {
		m := new(mdns.Msg)
		m.SetQuestion(r.owner[off:], mdns.TypeSOA)
		switch answer := r.sendMessage(m); {
		case answer.Rcode != mdns.RcodeSuccess && answer.Rcode != mdns.RcodeNameError:
			return mdns.RcodeToString[answer.Rcode] + " at " + r.owner[off:]
		case len(answer.Answer) > 0:
			return answer.Answer[0].Header().Name
		}
	}
	return ""
}

// A team's resources of the provider dns are created, changed, read back without drift, imported and destroyed. Drift,
// as by another client of the key, is read (docs/terraform.md).
func TestTerraform_writesByUpdates_S13_5(t *testing.T) {
	t.Parallel()
	u := runUpdated(t, t.TempDir())
	key := u.makeKey("team-a", "terraform", "", "*.apps.example.org.", "apps.example.org.")
	of := func(owner, typ string, ttl int) recordSet {
		return recordSet{t: t, server: u.dns, key: key, zone: "example.org.", owner: owner + ".example.org.", typ: typ, ttl: ttl}
	}
	expect := func(step, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}

	// 1. An address set: created, changed by a difference, destroyed and created again for another TTL.
	www := of("www.apps", "A", 300)
	expect("create", www.changeSet(nil, []string{"192.0.2.80", "192.0.2.81"}), "NOERROR")
	expect("refresh", www.refreshSet(), "300 IN A 192.0.2.80; 300 IN A 192.0.2.81")
	expect("change", www.changeSet([]string{"192.0.2.81"}, []string{"192.0.2.82"}), "NOERROR")
	expect("refresh", www.refreshSet(), "300 IN A 192.0.2.80; 300 IN A 192.0.2.82")
	expect("destroy for a TTL", www.destroySet(), "NOERROR")
	expect("refresh", www.refreshSet(), "")
	www.ttl = 60
	expect("create", www.changeSet(nil, []string{"192.0.2.80"}), "NOERROR")
	expect("records", u.readRecords("team-a"), "www.apps A 60 192.0.2.80")

	// 2. Texts: a change removes all former texts and adds all new ones, equal ones too.
	text := of("apps", "TXT", 60)
	expect("create", text.changeSet(nil, []string{`"a b"`, `"keep"`}), "NOERROR")
	expect("change", text.changeSet([]string{`"a b"`, `"keep"`}, []string{`"keep"`, `"c"`}), "NOERROR")
	expect("refresh", text.refreshSet(), `60 IN TXT "c"; 60 IN TXT "keep"`)

	// 3. An alias gets another target in one message.
	alias := of("docs.apps", "CNAME", 60)
	expect("create", alias.changeSet(nil, []string{"www.apps.example.org."}), "NOERROR")
	expect("change", alias.changeSet([]string{"www.apps.example.org."}, []string{"apps.example.org."}), "NOERROR")
	expect("refresh", alias.refreshSet(), "60 IN CNAME apps.example.org.")

	// 4. Drift: another client changes the set; the next apply takes the difference back.
	expect("another client", u.sendUpdate(&key, "update add www.apps.example.org. 60 A 192.0.2.66"), "NOERROR")
	expect("refresh", www.refreshSet(), "60 IN A 192.0.2.66; 60 IN A 192.0.2.80")
	expect("apply", www.changeSet([]string{"192.0.2.66"}, nil), "NOERROR")
	expect("refresh", www.refreshSet(), "60 IN A 192.0.2.80")

	// 5. A value by kubectl is drift that the provider cannot take back.
	static := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "static"},
		Spec: v1alpha1.RecordSpec{DomainName: "www.apps.example.org.", Type: "A", RData: "192.0.2.99"}}
	must.Get(u.client.KubizoneV1alpha1().Records("team-a").Create(t.Context(), static, metav1.CreateOptions{}))(t)
	expect("refresh", www.refreshSet(), "60 IN A 192.0.2.80; 60 IN A 192.0.2.99")
	expect("apply", www.changeSet([]string{"192.0.2.99"}, nil), "REFUSED")
	must.Succeed(t, u.client.KubizoneV1alpha1().Records("team-a").Delete(t.Context(), "static", metav1.DeleteOptions{}))

	// 6. Import asks for the SOA of every name up to the zone, also of those that the key does not list.
	narrow := of("www.apps", "A", 60)
	narrow.key = u.makeKey("team-a", "narrow", "", "*.apps.example.org.")
	expect("import", narrow.findZone(), "example.org.")

	// 7. Another's name is refused, and destroy leaves nothing of the key's.
	expect("a foreign name", of("own", "A", 60).changeSet(nil, []string{"192.0.2.1"}), "REFUSED")
	for _, resource := range []recordSet{www, text, alias} {
		expect("destroy", resource.destroySet(), "NOERROR")
	}
	expect("records", u.readRecords("team-a"), "")
}

// OpenTofu applies docs/terraform.md with a provider for manifests: created, without drift, changed, drift taken back,
// refused with the server's sentence, destroyed.
func TestTerraform_appliesManifests(t *testing.T) {
	t.Parallel()
	tofu := rig.Need(rig.Tool("opentofu"))(t)
	provider := rig.Need(rig.Tool("terraform-provider-kubectl"))(t)
	u := runUpdated(t, t.TempDir())
	page := must.Get(os.ReadFile("../../docs/terraform.md"))(t)
	_, text, _ := strings.Cut(string(page), "```hcl main.tf\n")
	text, _, _ = strings.Cut(text, "```")
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(filepath.Join(u.dir, "kubeconfig"), filepath.Join(dir, "kubeconfig")))
	// The provider is taken from its folder, so that nothing is downloaded.
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "tofurc"), fmt.Appendf(nil, `provider_installation {
  dev_overrides { "gavinbunney/kubectl" = %q }
  direct {}
}`, filepath.Dir(provider)), 0o600))
	write := func(text string) { must.Succeed(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600)) }
	run := func(args ...string) (string, error) {
		command := exec.CommandContext(rig.Within(t, 3*time.Minute), tofu, append(args, "-no-color")...)
		command.Dir, command.Env = dir, append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "tofurc"), "HOME="+dir)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	apply := func(want string) {
		t.Helper()
		output, err := run("apply", "-auto-approve")
		if got := u.readRecords("team-a"); err != nil || got != want {
			t.Fatalf("%v, team-a has %q, want %q\n%s", err, got, want, output)
		}
	}
	inSync := func() {
		t.Helper()
		if output, err := run("plan", "-detailed-exitcode"); err != nil { // 2: there are changes
			t.Errorf("a plan after an apply: %v\n%s", err, output)
		}
	}

	const www = "www.apps A 300 192.0.2.80"
	write(text)
	apply(www)
	inSync()
	write(strings.Replace(text, "192.0.2.80", "192.0.2.81", 1))
	apply(strings.Replace(www, "192.0.2.80", "192.0.2.81", 1))
	inSync()

	// Another writer changes the Record: the plan shows it, and the apply takes it back.
	records := u.client.KubizoneV1alpha1().Records("team-a")
	record := must.Get(records.Get(t.Context(), "www", metav1.GetOptions{}))(t)
	record.Spec.Values = []string{"192.0.2.66"}
	must.Get(records.Update(t.Context(), record, metav1.UpdateOptions{}))(t)
	write(text)
	if output, err := run("plan", "-detailed-exitcode"); err == nil {
		t.Errorf("no drift is seen:\n%s", output)
	}
	apply(www)

	// A name that no rule gives the team: the error is the server's.
	foreign := strings.NewReplacer("www.apps.", "foreign.b.", "www", "foreign").Replace(text[strings.Index(text, `resource "kubectl`):])
	write(text + foreign)
	if output, err := run("apply", "-auto-approve"); err == nil || !strings.Contains(output, "S4.1") {
		t.Errorf("a refused Record: %v\n%s", err, output)
	}
	write(text)
	if output, err := run("destroy", "-auto-approve"); err != nil || u.readRecords("team-a") != "" {
		t.Errorf("destroy: %v, team-a has %q\n%s", err, u.readRecords("team-a"), output)
	}
}
