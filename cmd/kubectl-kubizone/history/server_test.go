// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/standalone"
)

type world struct {
	*testing.T
	up   *standalone.Server
	zone *v1alpha1.Zone
}

func newWorld(t *testing.T, domain string, namespaces ...string) *world {
	t.Helper()
	return newWorldOf(t, standalone.Start(t), domain, namespaces...)
}

func newWorldOf(t *testing.T, server *standalone.Server, domain string, namespaces ...string) *world {
	t.Helper()
	w := &world{T: t, up: server}
	object := strings.ReplaceAll(domain, ".", "-")
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: v1alpha1.ZoneSpec{DomainName: domain + ".",
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}}}
	for _, ns := range namespaces {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: ns,
			Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	}
	w.zone = must.Get(w.up.KubizoneV1alpha1().Zones("platform").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	return w
}

func (w *world) readZone() *v1alpha1.Zone {
	w.Helper()
	return must.Get(w.up.KubizoneV1alpha1().Zones("platform").Get(w.Context(), w.zone.Name, metav1.GetOptions{}))(w.T)
}

// makeClient returns a client of a user, whose requests are answered with 403 if refuse returns a text.
func (w *world) makeClient(user string, refuse func(r *http.Request) string) versioned.Interface {
	w.Helper()
	config := must.Get(clientcmd.BuildConfigFromFlags("", w.up.Kubeconfig))(w.T)
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	}
	if refuse != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusing{next, refuse} })
	}
	return must.Get(versioned.NewForConfig(config))(w.T)
}

type refusing struct {
	next   http.RoundTripper
	refuse func(r *http.Request) string
}

func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	kind := r.refuse(request)
	if kind == "" {
		return r.next.RoundTrip(request)
	}
	status := apierrors.NewForbidden(v1alpha1.Resource(kind), "", fmt.Errorf("no rule allows it")).Status()
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":%q,"details":{"group":"kubi.zone","kind":%q}}`,
		status.Message, kind)
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text))}, nil
}

func (w *world) runLine(user, line string) (out string, code int) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	arguments := append(strings.Fields(line), "--kubeconfig", w.up.Kubeconfig)
	if user != "" {
		arguments = append(arguments, "--as", user, "--as-group", "system:masters")
	}
	code = client.Main(arguments, &stdout, &stderr)
	return stdout.String() + stderr.String(), code
}

// expectLine requires the exit code of a command line, and parts of its output.
func (w *world) expectLine(user, line string, code int, parts ...string) {
	w.Helper()
	out, got := w.runLine(user, line)
	if got != code {
		w.Errorf("%s: code %d: %s", line, got, out)
	}
	must.Say(w.T, out, parts...)
}

func (w *world) putRecord(user, namespace, object, owner, address string, labels map[string]string) {
	w.Helper()
	records := w.makeClient(user, nil).KubizoneV1alpha1().Records(namespace)
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object, Labels: labels}, Spec: v1alpha1.RecordSpec{
		DomainName: owner + "." + w.zone.Status.FQDN, Type: "A", RData: address}}
	if now, err := records.Get(w.Context(), object, metav1.GetOptions{}); err == nil {
		now.Labels, now.Spec = r.Labels, r.Spec
		must.Get(records.Update(w.Context(), now, metav1.UpdateOptions{FieldManager: "kubectl-edit"}))(w.T)
		return
	}
	must.Get(records.Create(w.Context(), r, metav1.CreateOptions{FieldManager: "kubectl-create"}))(w.T)
}

func (w *world) readEntries() string {
	w.Helper()
	body := must.Get(w.up.KubizoneV1alpha1().RESTClient().Get().Namespace("platform").Resource("zones").Name(w.zone.Name).
		SubResource("entries").Param("format", "text").DoRaw(w.Context()))(w.T)
	_, text, _ := strings.Cut(string(body), "\n") // a comment with the serial and hash
	return text
}

var soaSerial = regexp.MustCompile(`(SOA\t\S+ \S+) \d+ `)

func withoutSerial(text string) string { return soaSerial.ReplaceAllString(text, "$1 N ") }

func (w *world) expectEntries(when, want string) {
	w.Helper()
	if got := w.readEntries(); withoutSerial(got) != withoutSerial(want) {
		w.Errorf("%s\n%s\nwant\n%s", when, got, want)
	}
}

// Three users change a zone, and a prune deletes half of it. Another user finds user, values and time, and reverts
// the prune.
func TestStory_aBadPruneTakenBackInFourCommands(t *testing.T) {
	w := newWorld(t, "example.org", "platform", "team")
	for i := range 6 {
		w.putRecord("alice", "platform", fmt.Sprint("host", i), fmt.Sprint("host", i), fmt.Sprint("192.0.2.", i+1),
			map[string]string{"app": "web"})
	}
	w.putRecord("bob", "team", "www", "www", "192.0.2.80", nil)
	w.putRecord("bob", "team", "www", "www", "192.0.2.81", nil)
	good, text := w.readZone().Status.Serial, w.readEntries()
	for i := range 3 {
		must.Succeed(t, w.makeClient("carol", nil).KubizoneV1alpha1().Records("platform").Delete(t.Context(), fmt.Sprint("host", i),
			metav1.DeleteOptions{}))
	}
	w.putRecord("carol", "platform", "wrong", "wrong", "192.0.2.99", nil)

	log, code := w.runLine("dave", fmt.Sprintf("log example.org --since %d --by carol", good))
	if code != 0 || strings.Count(log, "\n- host") != 3 || strings.Count(log, "by carol") != 4 || !strings.Contains(log,
		"+ wrong.example.org. A 192.0.2.99") {
		t.Errorf("log: code %d\n%s", code, log)
	}
	diff, code := w.runLine("dave", fmt.Sprintf("diff example.org %d", good))
	if code != 1 || strings.Count(diff, "\n- host") != 3 || strings.Count(diff, "\n+ ") != 1 {
		t.Errorf("diff: code %d\n%s", code, diff)
	}
	plan, code := w.runLine("dave", fmt.Sprintf("revert example.org --to %d --plan", good))
	if code != 1 || strings.Count(plan, "\n+ host") != 3 || !strings.Contains(plan,
		"- wrong.example.org. A 192.0.2.99 (record platform/wrong; undoes carol (kubectl-create) at ") {
		t.Errorf("plan: code %d\n%s", code, plan)
	}
	if w.readEntries() == text {
		t.Error("a plan wrote")
	}
	done, code := w.runLine("dave", fmt.Sprintf("revert example.org --to %d --yes", good))
	if code != 0 || !strings.HasSuffix(done, "4 Records written\n") {
		t.Errorf("revert: code %d\n%s", code, done)
	}
	const creation = "\n+ Zone example.org., name servers ns1"
	if created, code := w.runLine("dave", "log example.org"); code != 0 || strings.Count(created, creation) != 1 ||
		strings.Contains(created, "instead of nothing") {
		t.Errorf("log of the creation: code %d\n%s", code, created)
	}
	t.Logf("%s\n%s\n%s\n%s", log, diff, plan, done)
	w.expectEntries("after the revert", text)
	back := must.Get(w.up.KubizoneV1alpha1().Records("platform").Get(t.Context(), "host0", metav1.GetOptions{}))(t)
	if back.Labels["app"] != "web" {
		t.Errorf("host0 came back with labels %v", back.Labels)
	}
	now := w.readZone().Status.Serial
	if !serial.Serial(now).Ahead(serial.Serial(good)) {
		t.Errorf("serial %d after %d", now, good)
	}
	if again, code := w.runLine("dave", fmt.Sprintf("revert example.org --to %d --yes", good)); code != 0 || !strings.Contains(again,
		"nothing to write") ||
		w.readZone().Status.Serial != now {
		t.Errorf("a second revert: code %d, serial %d\n%s", code, w.readZone().Status.Serial, again)
	}
	blame, code := w.runLine("dave", "blame www.example.org")
	if code != 0 || !strings.Contains(blame, "192.0.2.81") || !strings.Contains(blame, "bob (kubectl-edit)") || !strings.Contains(blame,
		"team/www") {
		t.Errorf("blame: code %d\n%s", code, blame)
	}
	if shown, code := w.runLine("dave", fmt.Sprintf("show example.org@%d", good)); code != 0 || shown != text {
		t.Errorf("show: code %d\n%s\nwant\n%s", code, shown, text)
	}
	t.Log(blame)
	w.expectLine("dave", "why none.example.org --resolver none", 1, "last change of zone example.org.: by dave (kubizone-revert) at ")
	// The log of a deleted Zone.
	must.Succeed(t, w.up.KubizoneV1alpha1().Records("team").Delete(t.Context(), "www", metav1.DeleteOptions{}))
	must.Succeed(t, w.makeClient("frank", nil).KubizoneV1alpha1().Zones("platform").Delete(t.Context(), w.zone.Name,
		metav1.DeleteOptions{}))
	must.Eventually(t, "the log of a deleted Zone, which the archive follows", func() bool {
		log, code := w.runLine("dave", "log platform/"+w.zone.Name+" --tail 1")
		return code == 0 && strings.Contains(log, "by frank") && strings.Contains(log, "- Zone platform/example-org")
	})
	w.expectLine("dave", "log never.example.org", 0, "no change in the history")
	w.expectLine("dave", "revert platform/example-org --to 1", 2, "revert platform/example-org --deleted takes it back")
}

// An error names the next step.
func TestAsk_refusesWhatIsNotKept(t *testing.T) {
	w := newWorld(t, "example.org", "platform")
	good := w.readZone().Status.Serial
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", nil)
	w.putRecord("dave", "platform", "www", "www", "192.0.2.2", nil)
	now := w.readZone().Status.Serial
	for line, want := range map[string]string{
		fmt.Sprintf("show example.org@%d", now+5): "has not reached serial",
		"show example.org@1":                      "",
		"revert example.org --to 1 --plan":        "",
		"log example.org --since noon":            "is no serial, no time",
		"blame none.example.org":                  "has no value in zone example.org.",
		"revert example.org":                      fmt.Sprintf("The last change of Records is serial %d, by dave (kubectl-create)", now),
		"revert -n platform www.example.org": fmt.Sprintf("undoes it: kubectl kubizone revert www.example.org -n platform --to %d",
			now-1),
		"blame nosuch -n platform":                                "no Zone or Record platform/nosuch, present or deleted: ",
		"log record/example-org":                                  "no Record default/example-org, present or deleted: ",
		"log zone/a -n platform":                                  "no Zone platform/a, present or deleted: ",
		"export record/a -n platform":                             "record/a is a Record: write a Zone",
		fmt.Sprintf("revert example.org --to %d", good+1):         "--yes does not ask",
		fmt.Sprintf("diff example.org %d %d", now, good):          "write the older first",
		fmt.Sprintf("diff example.org 1ms %d", good):              "write the older first",
		"show example.org":                                        "write ZONE@SERIAL",
		fmt.Sprintf("revert example.org --to %d --name %%", good): "--name",
	} {
		if out, code := w.runLine("dave", line); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d: %s", line, code, out)
		}
	}
}

// `log` and `blame` find a Zone or Record by kind, by namespace and object name, or by DNS name. Both find deleted
// objects too, and a zone of another view that encloses the name does not get in the way.
func TestLog_findsObjects(t *testing.T) {
	w := newWorld(t, "objects.test", "platform", "team")
	root := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "root"}, Spec: v1alpha1.ZoneSpec{DomainName: ".", View: "root",
		NameServers: []v1alpha1.NameServer{{Name: "ns.test.", Addresses: []string{"192.0.2.53"}}}}}
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Create(t.Context(), root, metav1.CreateOptions{}))(t)
	w.putRecord("bob", "team", "shop", "www", "192.0.2.80", nil)
	read := func(want string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			out := ""
			for began := time.Now(); !strings.Contains(out, want); time.Sleep(100 * time.Millisecond) { // the archive follows
				code := 0
				if out, code = w.runLine("dave", line); code > 1 || time.Since(began) > time.Minute {
					t.Errorf("%s: code %d\n%s\nwithout %q", line, code, out, want)
					break
				}
			}
		}
	}
	read("+ www.objects.test. A 192.0.2.80", "log record/shop -n team", "log team/shop", "log shop -n team", "log www.objects.test",
		"log zone/objects-test -n platform", "log platform/objects-test", "log objects.test")
	read("192.0.2.80", "blame record/shop -n team", "blame team/shop")
	must.Succeed(t, w.up.KubizoneV1alpha1().Records("team").Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	read("- www.objects.test. A 192.0.2.80", "log record/shop -n team", "log team/shop", "log www.objects.test")
	read("www.objects.test. has no value in zone objects.test.", "blame shop -n team")
	read("; no change in the history: of none.objects.test. in zone objects.test. (view default)", "log none.objects.test")
	w.deleteZone(w.makeClient("frank", nil), "platform")
	read("- Zone platform/objects-test", "log objects.test", "log zone/objects-test -n platform")
	read("- www.objects.test. A 192.0.2.80", "log www.objects.test", "log team/shop")
	read("; no change in the history: of never.test. in zone . (view root)", "log never.test")
}

type recordKey struct{ namespace, name string }

func (w *world) listContents(namespaces ...string) map[recordKey]string {
	w.Helper()
	out := map[recordKey]string{}
	for _, ns := range namespaces {
		list := must.Get(w.up.KubizoneV1alpha1().Records(ns).List(w.Context(), metav1.ListOptions{}))(w.T)
		for i := range list.Items {
			r := &list.Items[i]
			ttl := int32(0)
			if r.Spec.TTL != nil {
				ttl = *r.Spec.TTL
			}
			out[recordKey{ns, r.Name}] = fmt.Sprint(r.Spec.DomainName, ttl, r.Spec.RData, r.Spec.Values)
		}
	}
	return out
}

func (w *world) makeSubject(namespace string) history.Subject {
	return history.Subject{Zone: w.readZone(), Namespace: namespace}
}

func (w *world) revertZone(ctx context.Context, api versioned.Interface, to serial.Serial) (*history.Plan, error) {
	reader := &history.Reader{Client: api.KubizoneV1alpha1()}
	plan, err := reader.MakePlan(ctx, w.makeSubject("platform"), history.Moment{Serial: to}, history.Options{})
	if err != nil {
		return nil, err
	}
	return plan, reader.Run(ctx, plan)
}

// After random writes, a zone goes back to any serial: Records and zone file are those of then, and a repetition
// changes nothing.
func TestRevert_isTheTwinOfThePast(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, "twin.test", "one", "two")
	api := w.makeClient("", nil).KubizoneV1alpha1()
	random := rand.New(rand.NewPCG(seed, 0))
	type past struct {
		records map[recordKey]string
		text    string
	}
	pasts := map[int64]past{}
	remember := func() {
		pasts[w.readZone().Status.Serial] = past{w.listContents("one", "two"), w.readEntries()}
	}
	remember()
	for range 60 {
		ns, object := []string{"one", "two"}[random.IntN(2)], fmt.Sprint("r", random.IntN(4))
		// A write that leaves the RRset unchanged makes no step. So each Record has other values, and another ttl only
		// at a name without other Records: Records that share a name have the ttl of the name.
		at, ttl := random.IntN(5), int32(60+random.IntN(3))
		spec := v1alpha1.RecordSpec{DomainName: fmt.Sprintf("n%d.twin.test.", at), Type: "A"}
		if object == "r3" {
			spec.DomainName, at = fmt.Sprintf("%s-own.twin.test.", ns), random.IntN(2)
		} else {
			ttl = int32(60 + at)
		}
		value := func(net int) string { return fmt.Sprintf("192.%s.%d.%d", object[1:], net, random.IntN(3)) }
		if random.IntN(2) == 0 {
			spec.RData = value(1)
		} else {
			spec.Values = []string{value(1), value(2)}
		}
		if at > 0 {
			spec.TTL = &ttl
		}
		records := api.Records(ns)
		now, err := records.Get(t.Context(), object, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			_, err = records.Create(t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: spec},
				metav1.CreateOptions{FieldManager: "kubectl-create"})
		case random.IntN(3) == 0:
			err = records.Delete(t.Context(), object, metav1.DeleteOptions{})
		default:
			now.Spec = spec
			_, err = records.Update(t.Context(), now, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		}
		if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		remember()
	}
	serials := []int64{}
	for s := range pasts {
		serials = append(serials, s)
	}
	slices.Sort(serials)
	reader := &history.Reader{Client: api}
	for range 12 {
		to := serials[random.IntN(len(serials))]
		plan, err := w.revertZone(t.Context(), w.up, serial.Serial(to))
		if err != nil {
			t.Fatalf("to %d: %v, %+v", to, err, plan)
		}
		want := pasts[to]
		if got := w.listContents("one", "two"); fmt.Sprint(got) != fmt.Sprint(want.records) {
			t.Fatalf("to %d: %v\nwant %v\nplan %+v", to, got, want.records, plan)
		}
		if got := w.readEntries(); withoutSerial(got) != withoutSerial(want.text) {
			t.Fatalf("to %d:\n%s\nwant\n%s", to, got, want.text)
		}
		before := w.readZone().Status.Serial
		if plan, err := w.revertZone(t.Context(), w.up, serial.Serial(to)); err != nil || len(plan.Changes) > 0 ||
			w.readZone().Status.Serial != before {
			t.Fatalf("again to %d: %v, %+v", to, err, plan)
		}
		content := must.Get(reader.ReadContent(t.Context(), w.readZone()))(t)
		past := must.Get(reader.Read(t.Context(), w.makeSubject("platform"), nil))(t)
		at := serials[random.IntN(len(serials))]
		steps := must.Get(past.Since(history.Moment{Serial: serial.Serial(at)}))(t)
		for i := range steps {
			must.Succeed(t, content.Undo(&steps[i]))
		}
		var text bytes.Buffer
		must.Get(zonefile.Write(&text, content.Entries()))(t)
		if text.String() != pasts[at].text {
			t.Fatalf("the content at %d:\n%s\nwant\n%s", at, text.String(), pasts[at].text)
		}
	}
}

func TestRevert_withinRights(t *testing.T) {
	w := newWorld(t, "rights.test", "platform", "team", "other")
	w.putRecord("alice", "platform", "a", "a", "192.0.2.1", nil)
	w.putRecord("alice", "team", "b", "b", "192.0.2.2", nil)
	w.putRecord("alice", "team", "c", "c", "192.0.2.3", nil)
	good := w.readZone().Status.Serial
	deleteAll := func() {
		t.Helper()
		for _, x := range []recordKey{{"platform", "a"}, {"team", "b"}, {"team", "c"}} {
			must.Succeed(t, w.up.KubizoneV1alpha1().Records(x.namespace).Delete(t.Context(), x.name, metav1.DeleteOptions{}))
		}
	}
	text := w.readEntries()

	deleteAll()
	without := func(namespace string, dryRun bool) versioned.Interface {
		return w.makeClient("eve", func(r *http.Request) string {
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/changesets") &&
				(dryRun || !r.URL.Query().Has("dryRun")) {
				return "changesets"
			}
			return ""
		})
	}
	// A missing right in the zone's namespace: nothing begins in the other.
	before := w.readZone().Status.Serial
	plan, err := w.revertZone(t.Context(), without("platform", true), serial.Serial(good))
	if err == nil || plan == nil || plan.Refused != 1 || plan.Written != 0 || w.readZone().Status.Serial != before {
		t.Errorf("without a right: %v, %+v", err, plan)
	} else if c := plan.Changes[0]; c.Namespace != "platform" || !strings.Contains(strings.Join(c.Refused, ""),
		"changesets.kubi.zone is forbidden") {
		t.Errorf("the plan does not name the right: %+v", c)
	}
	late := history.ErrStopped{}
	plan, err = w.revertZone(t.Context(), without("platform", false), serial.Serial(good))
	if !errors.As(err, &late) || plan.Written != 0 ||
		!strings.HasPrefix(late.Reason, "record platform/a: changesets.kubi.zone is forbidden") {
		t.Errorf("a late refusal: %v, %+v", err, plan)
	}

	// A missing right in another namespace, also one unknown to the plan: the Records are left, and a
	// repetition goes on.
	for _, dryRun := range []bool{true, false} {
		plan, err = w.revertZone(t.Context(), without("team", dryRun), serial.Serial(good))
		if err != nil || plan.Written != 1 || len(plan.Changes) != 1 || len(plan.Left) != 2 ||
			!strings.Contains(plan.Left[0].Reason, "changesets.kubi.zone is forbidden") {
			t.Errorf("without a right in another namespace: %v, %+v", err, plan)
		}
		w.deleteRecord("platform", "a")
	}
	must.Get(w.revertZone(t.Context(), without("team", true), serial.Serial(good)))(t)
	if plan := must.Get(w.revertZone(t.Context(), w.up, serial.Serial(good)))(t); plan.Written != 2 || len(plan.Changes) != 2 {
		t.Errorf("the repetition: %+v", plan)
	}
	deleteAll()

	// Two at once: both end, and the zone has the former content.
	var wait sync.WaitGroup
	for _, user := range []string{"dave", "erin"} {
		wait.Go(func() {
			plan, err := w.revertZone(t.Context(), w.makeClient(user, nil), serial.Serial(good))
			if err != nil {
				t.Errorf("%s: %v, %+v", user, err, plan)
			}
		})
	}
	wait.Wait()
	w.expectEntries("after two reverts at once", text)

	// A tenant may read no zone, and reverts only Records of the namespace. A name that is another's by now is refused.
	deleteAll()
	w.putRecord("oscar", "other", "taken", "b", "192.0.2.66", nil)

	// Without the right to list all Records: own changes are whole, those of others are left.
	masked := &history.Reader{Client: w.makeClient("mia", func(r *http.Request) string {
		if r.URL.Query().Get("sources") == "true" {
			return "records"
		}
		return ""
	}).KubizoneV1alpha1()}
	view := must.Get(masked.MakePlan(t.Context(), w.makeSubject("team"), history.Moment{Serial: serial.Serial(good)}, history.Options{}))(t)
	var namespaces, left []string
	for _, c := range view.Changes {
		namespaces = append(namespaces, c.Namespace)
	}
	for _, x := range view.Left {
		left = append(left, x.Text+" of "+x.Writer)
	}
	if !slices.Equal(namespaces, []string{"platform", "team"}) || !slices.Equal(left, []string{
		"- b.rights.test. A 192.0.2.66 of another namespace", "+ b.rights.test. A 192.0.2.2 of kubizone-admin"}) {
		t.Errorf("without the right to list all Records: changes in %q, left %q", namespaces, left)
	}

	tenant := w.makeClient("tina", func(r *http.Request) string {
		switch {
		case strings.Contains(r.URL.Path, "/zones"):
			return "zones"
		case strings.Contains(r.URL.Path, "/records") && !strings.Contains(r.URL.Path, "/namespaces/team/"):
			return "records"
		}
		return ""
	})
	reader := &history.Reader{Client: tenant.KubizoneV1alpha1()}
	subject := history.Subject{Name: w.zoneName(), Namespace: "team"}
	own := must.Get(reader.MakePlan(t.Context(), subject, history.Moment{Serial: serial.Serial(good)},
		history.Options{Name: w.zoneName()}))(t)
	if len(own.Changes) != 2 || own.Refused != 1 || len(own.Changes[0].Refused) != 1 || own.Changes[0].FQDN != "b.rights.test." {
		t.Errorf("a tenant's plan: %+v", own)
	}
	if err := reader.Run(t.Context(), own); err == nil {
		t.Error("it ran")
	}
	one := must.Get(reader.MakePlan(t.Context(), subject, history.Moment{Serial: serial.Serial(good)},
		history.Options{Name: name.MustParse("c.rights.test.")}))(t)
	if len(one.Changes) != 1 || one.Refused != 0 {
		t.Errorf("a tenant's plan of a name: %+v", one)
	}
	must.Succeed(t, reader.Run(t.Context(), one))
	if got := w.readEntries(); !strings.Contains(got, "192.0.2.3") || !strings.Contains(got, "192.0.2.66") || strings.Contains(got,
		"192.0.2.1\n") {
		t.Errorf("after the tenant's revert\n%s", got)
	}
}

// A revert in several steps may first free a name that a later step needs, so a refusal for that name is expected in
// its plan. If the server refuses the Record for another reason (here: the rule is gone), the Record is left.
func TestRevert_keepsRefusalsOfPassingNames(t *testing.T) {
	w := newWorld(t, "pass.test", "platform", "team", "other")
	w.putRecord("alice", "team", "b", "b", "192.0.2.2", nil)
	w.putRecord("oscar", "other", "first", "first", "192.0.2.65", nil)
	good := w.readZone().Status.Serial
	must.Succeed(t, w.up.KubizoneV1alpha1().Records("team").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	w.putRecord("oscar", "other", "taken", "b", "192.0.2.66", nil)
	reader := &history.Reader{Client: w.up.KubizoneV1alpha1()}
	makePlan := func() *history.Plan {
		return must.Get(reader.MakePlan(t.Context(), w.makeSubject("platform"), history.Moment{Serial: serial.Serial(good)},
			history.Options{}))(t)
	}
	if plan := makePlan(); plan.Refused != 0 || len(plan.Changes) != 2 || len(plan.Gaps) != 1 {
		t.Fatalf("with the rule: %+v", plan)
	}
	zone := w.readZone()
	zone.Spec.Delegations = slices.DeleteFunc(zone.Spec.Delegations, func(rule v1alpha1.DelegationRule) bool {
		return rule.Namespace == "team"
	})
	must.Get(w.up.KubizoneV1alpha1().Zones("platform").Update(t.Context(), zone, metav1.UpdateOptions{}))(t)
	plan := makePlan()
	if plan.Refused != 0 || len(plan.Changes) != 1 || len(plan.Left) != 1 || plan.Left[0].Name != "b" || len(plan.Gaps) != 0 {
		t.Errorf("without the rule: %+v", plan)
	}
	// A tenant without the right to read the zone takes back a creation.
	tenant := &history.Reader{Client: w.makeClient("tina", func(r *http.Request) string {
		if strings.Contains(r.URL.Path, "/zones") {
			return "zones"
		}
		return ""
	}).KubizoneV1alpha1()}
	own := must.Get(tenant.MakePlan(t.Context(), history.Subject{Name: w.zoneName(), Namespace: "other"},
		history.Moment{Serial: serial.Serial(good)}, history.Options{Name: w.zoneName()}))(t)
	if len(own.Changes) != 1 || own.Changes[0].Op != "-" || own.Refused != 0 {
		t.Errorf("a tenant's creation: %+v", own)
	}
}

func (w *world) zoneName() name.Name { return name.MustParse(w.zone.Status.FQDN) }
