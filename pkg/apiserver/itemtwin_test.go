// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/warning"
	restclient "k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type twinWrite struct {
	user, verb, name string
	// UID and VERSION in body stand for the values of the Record at the receiving server.
	body                string
	manager, validation string
	force, dry          bool
	uid, version        string // preconditions of a deletion
}

type twinServer struct {
	*watched
	users map[string]typed.KubizoneV1alpha1Interface
}

// theUnknown fails authorization. A request then gets a text, and a change set a Status.
const theUnknown = "unknown"

// Rights follow from twinRights.
var twinUsers = []string{"owner", "owner", "owner", "owner", "owner", "reader", "patcher", "keeper", theUnknown}

func twinRights(a authorizer.Attributes) (authorizer.Decision, string, error) {
	denied := map[string][]string{"reader": {"create", "patch", "delete"}, "patcher": {"create"}, "keeper": {"delete"}}
	switch user := a.GetUser().GetName(); {
	case user == theUnknown:
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer is away")
	case slices.Contains(denied[user], a.GetVerb()):
		return authorizer.DecisionDeny, user + " may not", nil
	}
	return authorizer.DecisionAllow, "by a role", nil
}

// Admission acts on the later names by their words.
var twinNames = []string{"a", "b", "c", "d", "mutated", "damaged", "warned", "refused", "throttled", "failing", "invalid"}

func mutateTwin(ctx context.Context, a admission.Attributes) error {
	record, ok := a.GetObject().(*v1alpha1.Record)
	switch {
	case !ok:
	case a.GetName() == "mutated":
		metav1.SetMetaDataLabel(&record.ObjectMeta, "policy", "mutated")
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}
		record.OwnerReferences = append(record.OwnerReferences, owner, owner)
	case a.GetName() == "damaged":
		record.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x", Operation: "Wrong"}}
	case a.GetName() == "warned":
		warning.AddWarning(ctx, "", "a policy warns of "+record.Spec.RData)
		return a.AddAnnotation("policy.example.org/seen", record.Spec.Type)
	}
	return nil
}

func validateTwin(_ context.Context, a admission.Attributes) error {
	switch a.GetName() {
	case "refused":
		return admission.NewForbidden(a, errors.New("a policy of the cluster"))
	case "throttled":
		return apierrors.NewTooManyRequests("a webhook is busy", 7)
	case "failing":
		return errors.New("a webhook fails")
	case "invalid":
		return apierrors.NewInvalid(v1alpha1.Kind("Record"), a.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("spec", "ttl"), 1, "is too short"), field.Required(field.NewPath("metadata", "labels"), "")})
	}
	return nil
}

// Optional parts of a Record, each rarely present.
var (
	twinMetadata = []string{`,"namespace":"team"`, `,"uid":"UID"`, `,"uid":"another"`, `,"resourceVersion":"VERSION"`,
		`,"resourceVersion":"1"`, `,"resourceVersion":"x"`, `,"labels":{"team":"red"}`, `,"labels":{"team":"blue"}`,
		`,"labels":{"not valid":"x"}`, `,"annotations":{"note":"x","note":"y"}`, `,"creationTimestamp":null,"generation":7`,
		`,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":5`, `,"managedFields":[]`,
		`,"managedFields":[{"manager":"m","operation":"Apply"}]`, `,"ownerReferences":[` + twinOwner + `,` + twinOwner + `]`}
	twinSpec = []string{`,"ttl":300`, `,"ttl":"300"`, `,"ttl":3000000000`, `,"ttl":300,"ttl":600`, `,"ttl":null`,
		`,"valuez":[]`, `,"class":"IN"`}
	twinRest = []string{`,"status":{"serial":7}`, `,"statuz":{}`, `,"spec":{}`, `,"kind":"Record"`, `,"kind":"Record"`}
)

const twinOwner = `{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"2"}`

func makeTwinWrite(random *rand.Rand) twinWrite {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	pickSeldom := func(of []string) (all string) {
		for _, text := range of {
			if random.IntN(20) == 0 {
				all += text
			}
		}
		return all
	}
	w := twinWrite{user: pick(twinUsers...), name: pick(twinNames[:4]...), manager: pick("one", "one", "two"),
		verb:       pick("create", "create", "patch", "patch", "patch", "delete"),
		validation: pick("", "", metav1.FieldValidationStrict, metav1.FieldValidationWarn, metav1.FieldValidationIgnore),
		force:      random.IntN(3) == 0, dry: random.IntN(8) == 0}
	if random.IntN(3) == 0 {
		w.name = pick(twinNames...)
	}
	if w.verb == "create" && random.IntN(4) == 0 {
		w.manager = ""
	}
	if w.verb == "delete" {
		w.uid, w.version = pick("", "", "UID", "another"), pick("", "", "VERSION", "1")
		return w
	}
	data := pick(`,"rdata":"192.0.2.1"`, `,"rdata":"192.0.2.2"`, `,"rdata":"192.0.2.2"`, `,"values":["192.0.2.1","192.0.2.3"]`,
		`,"values":["192.0.2.1","192.0.2.1"]`, `,"rdata":"no address"`, `,"rdata":7`, ``)
	spec := fmt.Sprintf(`"domainName":"%s.example.%s.","type":"A"`, w.name, pick("org", "org", "org", "org", "net")) + data
	if random.IntN(15) == 0 { // more than the namespace may store
		spec = fmt.Sprintf(`"domainName":"%s.example.org.","type":"TXT","values":["%s"]`, w.name, strings.Repeat("x", 3900))
	}
	w.body = fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q%s},"spec":{%s%s}%s}`, w.name,
		pickSeldom(twinMetadata), spec, pickSeldom(twinSpec), pickSeldom(twinRest))
	return w
}

// twinAnswer has all observable effects of a write.
type twinAnswer struct {
	Code     int32
	Reason   metav1.StatusReason
	Message  string
	Causes   []string
	Retry    int32
	Warnings []string
	Event    string
	Stored   string
}

var (
	twinUID     = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	twinTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	twinVersion = regexp.MustCompile(`\b\d{4,}\b`)
)

// maskOwn hides values that differ between servers. A serial has ten digits.
func maskOwn(text string) string {
	text = twinTime.ReplaceAllString(twinUID.ReplaceAllString(text, "UID"), "TIME")
	return twinVersion.ReplaceAllStringFunc(text, func(number string) string {
		if n, _ := strconv.Atoi(number); n >= 1_000_000_000 {
			return number
		}
		return "VERSION"
	})
}

func startTwin(t *testing.T, hasPlugins bool) *twinServer {
	watched := makeWatched(t, &budget.Limits{Stored: budget.Stock{Octets: 40 << 10}},
		func(w *watched, config *genericapiserver.RecommendedConfig) {
			if hasPlugins {
				w.installPlugins(t, config)
			}
		})
	s := &twinServer{watched, map[string]typed.KubizoneV1alpha1Interface{}}
	s.rights, s.mutate, s.validate = twinRights, mutateTwin, validateTwin
	for _, user := range twinUsers {
		reach := restclient.CopyConfig(s.reach)
		reach.Impersonate.UserName = user
		client := must.Get(versioned.NewForConfig(reach))(t)
		s.users[user] = client.KubizoneV1alpha1()
	}
	return s
}

func (s *twinServer) performWrite(t *testing.T, w twinWrite, send func(w twinWrite) error) twinAnswer {
	t.Helper()
	record, err := s.api.Records("team").Get(t.Context(), w.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("UID", cmp.Or(string(record.UID), "none"), "VERSION", cmp.Or(record.ResourceVersion, "5")).Replace
	w.body, w.uid, w.version = fill(w.body), fill(w.uid), fill(w.version)
	s.mu.Lock()
	s.events = nil
	s.mu.Unlock()
	s.warnings.mu.Lock()
	s.warnings.texts = nil
	s.warnings.mu.Unlock()
	answer := takeTwinError(send(w))
	rig.Until(rig.Within(t, time.Minute), t, fmt.Sprintf("the event of %+v, answered %+v", w, answer), func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, event := range s.events {
			if event.ObjectRef.Resource == "records" && event.Verb == w.verb {
				answer.Event = describeTwinEvent(t, event)
				return nil
			}
		}
		return errors.New("none yet")
	})
	s.warnings.mu.Lock()
	answer.Warnings = slices.Clone(s.warnings.texts)
	s.warnings.mu.Unlock()
	record, err = s.api.Records("team").Get(t.Context(), w.name, metav1.GetOptions{})
	sortManagers(record.ManagedFields)
	answer.Stored = maskOwn(string(must.Get(json.Marshal(record))(t))) + maskOwn(fmt.Sprint(apierrors.ReasonForError(err)))
	return answer
}

// sortManagers undoes the order by time.
func sortManagers(managers []metav1.ManagedFieldsEntry) {
	slices.SortFunc(managers, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)))
	})
}

func takeTwinError(err error) (a twinAnswer) {
	var of apierrors.APIStatus
	if err == nil {
		return a
	}
	if !errors.As(err, &of) {
		return twinAnswer{Message: err.Error()}
	}
	status := of.Status()
	a = twinAnswer{Code: status.Code, Reason: status.Reason, Message: maskOwn(status.Message)}
	if status.Details != nil {
		a.Retry = status.Details.RetryAfterSeconds
		for _, c := range status.Details.Causes {
			a.Causes = append(a.Causes, maskOwn(fmt.Sprintf("%s %s: %s", c.Type, c.Field, cmp.Or(c.Message, status.Message))))
		}
		slices.Sort(a.Causes)
	}
	return a
}

func describeTwinEvent(t *testing.T, e *auditinternal.Event) string {
	user := e.User
	if e.ImpersonatedUser != nil {
		user = *e.ImpersonatedUser
	}
	object := func(of *runtime.Unknown) (value any) {
		if of != nil {
			must.Succeed(t, json.Unmarshal(of.Raw, &value))
		}
		return value
	}
	e = e.DeepCopy()
	maps.DeleteFunc(e.Annotations, func(key, _ string) bool { // of a request that takes more than 500 ms
		return strings.HasPrefix(key, "apiserver.latency.k8s.io/")
	})
	if status := e.ResponseStatus; user.Username == theUnknown {
		e.ResponseStatus, e.ResponseObject = nil, nil
	} else if status.Details != nil && len(status.Details.Causes) > 0 { // conflicts, in no fixed order upstream
		slices.SortFunc(status.Details.Causes, func(a, b metav1.StatusCause) int {
			return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
		})
		e.ResponseObject = nil
	}
	var record v1alpha1.Record
	if e.ResponseObject != nil && json.Unmarshal(e.ResponseObject.Raw, &record) == nil && record.Kind == "Record" {
		sortManagers(record.ManagedFields)
		e.ResponseObject.Raw = must.Get(json.Marshal(&record))(t)
	}
	text := must.Get(json.Marshal(map[string]any{
		"level": e.Level, "stage": e.Stage, "verb": e.Verb, "uri": e.RequestURI, "user": e.User.Username, "groups": e.User.Groups,
		"as": e.ImpersonatedUser, "agent": e.UserAgent, "ips": e.SourceIPs, "ref": e.ObjectRef, "status": e.ResponseStatus,
		"annotations": e.Annotations, "request": object(e.RequestObject), "response": object(e.ResponseObject)}))(t)
	return maskOwn(string(text))
}

func (w twinWrite) dryRun() []string {
	if w.dry {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (w twinWrite) makePreconditions() *metav1.Preconditions {
	p := &metav1.Preconditions{}
	if w.uid != "" {
		p.UID = (*types.UID)(&w.uid)
	}
	if w.version != "" {
		p.ResourceVersion = &w.version
	}
	if *p == (metav1.Preconditions{}) {
		return nil
	}
	return p
}

func (s *twinServer) sendRequest(t *testing.T, w twinWrite) error {
	client := s.users[w.user].RESTClient()
	var request *restclient.Request
	switch w.verb {
	case "create":
		request = client.Post().SetHeader("Content-Type", runtime.ContentTypeJSON)
	case "patch":
		request = client.Patch(types.ApplyYAMLPatchType).Name(w.name).Param("force", strconv.FormatBool(w.force))
	case "delete":
		options := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, DryRun: w.dryRun(),
			Preconditions: w.makePreconditions()}
		w.body = string(must.Get(json.Marshal(options))(t))
		request = client.Delete().Name(w.name).SetHeader("Content-Type", runtime.ContentTypeJSON)
	}
	if w.verb != "delete" {
		if w.manager != "" {
			request = request.Param("fieldManager", w.manager)
		}
		if w.verb == "create" {
			w.validation = metav1.FieldValidationStrict // an item never drops an unknown field
		}
		if w.validation != "" {
			request = request.Param("fieldValidation", w.validation)
		}
	}
	if w.dry {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	return request.Namespace("team").Resource("records").MaxRetries(0).Body([]byte(w.body)).Do(t.Context()).Error()
}

func (s *twinServer) sendItem(t *testing.T, w twinWrite) error {
	set := &v1alpha1.ChangeSet{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "ChangeSet"},
		Spec: v1alpha1.ChangeSetSpec{FieldManager: w.manager, Force: w.force}}
	switch w.verb {
	case "create":
		set.Spec.Items = []v1alpha1.ChangeSetItem{createRaw(w.body)}
	case "patch":
		set.Spec.Items = []v1alpha1.ChangeSetItem{applyRaw(w.body)}
	case "delete":
		set.Spec.Items = []v1alpha1.ChangeSetItem{{Delete: &v1alpha1.ChangeSetDelete{Name: w.name, UID: types.UID(w.uid),
			ResourceVersion: w.version}}}
	}
	body := must.Get(json.Marshal(set))(t)
	request := s.users[w.user].RESTClient().Post().SetHeader("Content-Type", runtime.ContentTypeJSON)
	if w.validation != "" {
		request = request.Param("fieldValidation", w.validation)
	}
	if w.dry {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	return request.Namespace("team").Resource("changesets").MaxRetries(0).Body(body).Do(t.Context()).Error()
}

// asOfRequest removes the item's position from a set's answer.
func (a twinAnswer) asOfRequest(w twinWrite) twinAnswer {
	which := fmt.Sprintf("spec.items[0] (%s): ", w.name)
	a.Message = strings.TrimPrefix(a.Message, "1 of 1 items failed, and nothing was written: "+which)
	for i := range a.Warnings {
		a.Warnings[i] = strings.TrimPrefix(a.Warnings[i], which)
	}
	path := regexp.MustCompile(`spec\.items\[0\](\.create|\.apply)?\.?`)
	for i := range a.Causes {
		a.Causes[i] = path.ReplaceAllString(strings.ReplaceAll(a.Causes[i], which, ""), "")
	}
	return a
}

// asOfItem adds the cause of an item: always present, without a field for a deletion.
func (a twinAnswer) asOfItem() twinAnswer {
	if a.Code != 0 && len(a.Causes) == 0 {
		a.Causes = []string{fmt.Sprintf("%s : %s", a.Reason, a.Message)}
	}
	for i, c := range a.Causes {
		kind, rest, _ := strings.Cut(c, " ")
		a.Causes[i] = kind + " " + strings.TrimPrefix(rest, ".")
	}
	return a
}

// Each item of a change set is authorized, admitted, counted, audited, answered and stored as the same write would be
// in a request of its own (S10.3). The test sends random writes to one server as requests and to an equal server as
// items, and compares the two.
func TestItems_areAsRequests_S10_3(t *testing.T) {
	compareTwins(t, [2]*twinServer{startTwin(t, false), startTwin(t, false)}, 200, 0, 400, 403, 404, 409, 422, 429, 500)
}

// So they are with webhooks, a ValidatingAdmissionPolicy and a ResourceQuota.
func TestItems_meetPluginsAsRequestsDo_S10_3(t *testing.T) {
	compareTwins(t, [2]*twinServer{startTwin(t, true), startTwin(t, true)}, 240, 0, 403, http.StatusTeapot)
}

func compareTwins(t *testing.T, servers [2]*twinServer, writes int, answers ...int32) {
	const seed = 52
	random := rand.New(rand.NewPCG(seed, 0))
	if rig.Long() {
		writes *= 15
	}
	codes, refusals := map[int32]int{}, map[string]int{}
	for i := range writes {
		w := makeTwinWrite(random)
		want := servers[0].performWrite(t, w, func(w twinWrite) error { return servers[0].sendRequest(t, w) }).asOfItem()
		got := servers[1].performWrite(t, w, func(w twinWrite) error { return servers[1].sendItem(t, w) }).asOfRequest(w)
		for _, of := range []string{"exceeded quota", "no TTL of 300", "not this address", "the hook labels it"} {
			if strings.Contains(want.Message+strings.Join(want.Warnings, " "), of) {
				refusals[of]++
			}
		}
		if codes[want.Code]++; w.user == theUnknown {
			want.Message, want.Causes, got.Message, got.Causes = "", nil, "", nil
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("write %d of seed %d: %+v (- the request, + the item)\n%s", i, seed, w, diff)
		}
	}
	for _, code := range answers {
		if codes[code] == 0 {
			t.Errorf("no write is answered %d: %v", code, codes)
		}
	}
	if hasPlugins := servers[0].plugins != nil; hasPlugins != (len(refusals) == 4) {
		t.Errorf("plugins: %v", refusals)
	}
	t.Logf("answers by code: %v, of plugins: %v", codes, refusals)
}
