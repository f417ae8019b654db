// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/dns/tsig"
)

// TestStories runs the decisions from facts in testdata/*.txt, with the resulting status. "go test -rewrite" writes the
// output anew. Commands:
//
//	server a reconcile of ns1 of cluster prod with a ready pod: its steps, the next reconcile, the status.
//	    [alone] [signer] [external] [uncovered] [unheld] [no-cluster] [stopped] [claim]      the kind of server
//	    [was=REASON]                   the former reason of Ready or Degraded: AllReady, Unavailable
//	    [key-missing] [invalid]        the cluster has no key yet; rendering fails
//	    [rotates] [peers-rotate] [held] [look-again=DURATION]      the TSIG keys, and those of a signer's cluster
//	    [turn=SERVER]                  the server whose pod is replaced first
//	    [pod=none|changes]             the state of the pod
//	    [silent]                       the agent does not answer
//	    [left=RESOURCE,...]            superfluous objects
//	    [former=owned|new|AGE,...]     ReplicaSets of another manager: with their Deployment, or idle for this long
//	    [fail=hold|read|apply|drain|remove] [foreign] [take-over=service|deployment]      the outcome of a step
//	keys   [none] [next] [former] [made=AGE] [stepped=AGE] [taken] [algorithm=A] [rotate-after=DURATION] [held]
//	turn   of ns1: [holder=NAME] [same] [changes] [late] [others=NAME[!],...]      a name with "!" is not ready
//	leave  [unheld] [uncovered] [age=DURATION] [children=N] [left=N] [fail]      an object with a timeout of 10m
//	sweep  [begin] [owners=N] [gone=NAME,...] [for=DURATION]      a sweep every two minutes for this long; begin: reset
//	cluster [primary=N] [secondary=N] [signer] [rotates] [held] [fail] [uncovered]      a line a server: NAME ROLE [REASON...]
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var sweeps storySweeper
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				report := map[string]func(*storyFacts) string{
					"server": describeServer, "keys": describeKeys, "turn": describeTurn, "leave": describeLeaving,
					"cluster": describeCluster,
					"sweep":   func(of *storyFacts) string { return describeSweep(of, &sweeps) },
				}[d.Cmd]
				if report == nil {
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
				of := &storyFacts{t: t, data: d, asked: map[string]bool{}}
				reported := report(of)
				for _, arg := range d.CmdArgs {
					if !of.asked[arg.Key] {
						d.Fatalf(t, "%s has no %s", d.Cmd, arg.Key)
					}
				}
				return reported
			})
		})
	}
}

var storyNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// An argument that no command reads fails the story.
type storyFacts struct {
	t     *testing.T
	data  *datadriven.TestData
	asked map[string]bool
}

func (s *storyFacts) hasKey(key string) bool {
	s.asked[key] = true
	return s.data.HasArg(key)
}

func (s *storyFacts) readValue(key, otherwise string) string {
	if s.hasKey(key) {
		for _, arg := range s.data.CmdArgs {
			if arg.Key == key && len(arg.Vals) > 0 {
				return strings.Join(arg.Vals, ",")
			}
		}
	}
	return otherwise
}

func (s *storyFacts) listValues(key string) []string {
	if value := s.readValue(key, ""); value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

func (s *storyFacts) readCount(key string) int {
	n, err := strconv.Atoi(s.readValue(key, "0"))
	if err != nil {
		s.data.Fatalf(s.t, "%v", err)
	}
	return n
}

func (s *storyFacts) readDuration(text string) time.Duration {
	of, err := time.ParseDuration(text)
	if err != nil {
		s.data.Fatalf(s.t, "%v", err)
	}
	return of
}

func (s *storyFacts) buildInstance() *bind9.Bind9Instance {
	of := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "ns1", Generation: 3}}
	of.Spec.Role = bind9.RoleSecondary
	if s.hasKey("signer") {
		of.Spec.Role = bind9.RoleSigner
	}
	if !s.hasKey("alone") {
		of.Spec.ClusterRef = &bind9.ClusterReference{Name: "prod"}
	}
	if s.hasKey("external") {
		of.Spec.External = &bind9.ExternalServer{Address: "192.0.2.1:53", AgentURL: "https://ns1.example."}
	}
	if s.hasKey("claim") {
		of.Spec.Storage = &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim}
	}
	if s.hasKey("stopped") {
		of.Spec.Replicas = new(int32)
	}
	if !s.hasKey("unheld") {
		of.Finalizers = []string{Finalizer}
	}
	switch was := s.readValue("was", ""); was {
	case ReasonReady:
		of.Status.Conditions = []metav1.Condition{{Type: bind9.ConditionReady, Status: metav1.ConditionTrue, Reason: was}}
	case ReasonUnavailable:
		of.Status.Conditions = []metav1.Condition{{Type: bind9.ConditionDegraded, Status: metav1.ConditionTrue, Reason: was}}
	}
	return of
}

func storyKeys(next, former bool) render.TransferKeys {
	keys := render.TransferKeys{Key: render.Key{Name: "one"}}
	if next {
		keys.Next = &render.Key{Name: "next"}
	}
	if former {
		keys.Former = &render.Key{Name: "former"}
	}
	return keys
}

// buildServer returns the facts of ns1, and the facts that actionRead adds.
func (s *storyFacts) buildServer() (w, read *facts) {
	w = &facts{now: storyNow, instance: s.buildInstance(), covered: !s.hasKey("uncovered")}
	if w.instance.Spec.ClusterRef != nil && !s.hasKey("no-cluster") {
		w.cluster = &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "prod"}}
	}
	server := render.Merge(w.instance, w.cluster)
	read = &facts{server: &server, hash: "h1"}
	read.keys.TransferKeys = storyKeys(s.hasKey("rotates"), false)
	server.Transfer = read.keys.TransferKeys
	if s.hasKey("peers-rotate") {
		peers := storyKeys(false, true)
		server.Peers = &peers
	}
	if s.hasKey("held") {
		read.keys.heldBy = storyClass()
	}
	read.keys.requeueAfter = s.readDuration(s.readValue("look-again", "0s"))
	if s.hasKey("invalid") {
		read.invalid = errors.New("spec.config: cannot be rendered")
	}
	if holder := s.readValue("turn", ""); holder != "" {
		_, read.blocked = nextHolder(holder, &reservation{server: "ns1", others: []otherServer{{name: holder}}})
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ns1"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.0.0.1"}}}
	read.objects = []render.Object{{Resource: render.ConfigMaps, Name: "ns1-config"}, {Resource: render.Services, Name: "ns1"},
		{Resource: server.Workload(), Name: "ns1"}}
	pod := s.readValue("pod", "")
	if w.ready, w.finished = pod == "" || pod == "changes", pod == ""; pod != "none" {
		w.service = service
		for _, object := range read.objects {
			w.workload = &metav1.ObjectMeta{Name: object.Name} // the last is the workload
			w.children = append(w.children, childObject{object.Resource, w.workload})
		}
	}
	w.ready = w.ready && server.Replicas > 0
	if s.hasKey("silent") {
		w.agentErr = errors.New("connection refused")
	}
	for _, left := range s.listValues("left") {
		for _, resource := range childResources {
			if resource.Resource == left {
				w.children = append(w.children, childObject{resource, &metav1.ObjectMeta{Name: "ns1"}})
			}
		}
	}
	for i, former := range s.listValues("former") {
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("former-%d", i+1)}}
		switch controller := true; former {
		case "owned":
			set.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "ns1", Controller: &controller}}
		case "new":
		default:
			since := storyNow.Add(-s.readDuration(former)).Format(time.RFC3339)
			set.Annotations = map[string]string{annotationIdle: since}
		}
		w.formerSets = append(w.formerSets, set)
	}
	return w, read
}

func storyClass() *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "agents"}}
	of.Spec.Bind9 = &v1alpha1.Bind9Provider{Mode: v1alpha1.Bind9ModeTransfer}
	return of
}

func (s *storyFacts) findOutcome(step string) error {
	waits := s.readValue("take-over", "")
	switch foreignObject := s.hasKey("foreign"); {
	case s.readValue("fail", "") == step && foreignObject:
		return fmt.Errorf("applying: %w", &foreign{resource: "services", name: "ns1"})
	case s.readValue("fail", "") == step:
		return errors.New("the API does not answer")
	case step == "read" && s.hasKey("key-missing"):
		return errNoTransferKey
	case step == "apply" && waits == "service":
		return &takingOver{"Service waits", &corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.0.0.9"}}}}
	case step == "apply" && waits != "":
		return &takingOver{"Deployment goes", nil}
	}
	return nil
}

func describeServer(s *storyFacts) string {
	w, read := s.buildServer()
	for _, key := range []string{"key-missing", "foreign", "fail", "take-over"} {
		s.hasKey(key)
	}
	var reported strings.Builder
	for range 10 {
		d := decideNext(w)
		if d.action < actionWait {
			w.lastAction = d.action
		}
		switch d.action {
		case actionIgnore:
			return "leave it alone\n"
		case actionAddFinalizer:
			reported.WriteString("hold\n")
			w.err, w.instance.Finalizers = s.findOutcome("hold"), []string{Finalizer}
		case actionRead:
			reported.WriteString("read\n")
			w.err = s.findOutcome("read")
			w.server, w.keys, w.objects, w.hash, w.invalid = read.server, read.keys, read.objects, read.hash, read.invalid
		case actionReserve:
			reported.WriteString("take its turn\n")
			w.blocked = read.blocked
		case actionApply:
			reported.WriteString("apply")
			for _, object := range d.apply {
				reported.WriteString(" " + object.Resource.Resource)
			}
			reported.WriteString("\n")
			w.err = s.findOutcome("apply")
		case actionDrain:
			for _, set := range d.drain.idle {
				reported.WriteString("mark as idle " + set.Name + "\n")
			}
			for _, set := range d.drain.remove {
				reported.WriteString("remove " + set.Name + "\n")
			}
			w.err = s.findOutcome("drain")
		case actionRemove:
			for _, one := range d.remove {
				reported.WriteString("remove " + one.resource.Resource + "\n")
			}
			w.err = s.findOutcome("remove")
		case actionWait:
			return reported.String() + describeRest(d.requeueAfter, d.err) + describeStatus(w)
		}
		if w.hasFailed(actionAddFinalizer) {
			return reported.String() + describeRest(0, w.err)
		}
	}
	panic("invariant: decides for ever: " + reported.String())
}

func describeRest(again time.Duration, err error) string {
	switch {
	case err != nil:
		return "failed: " + err.Error() + "\n"
	case again > 0:
		return "again in " + again.String() + "\n"
	}
	return "rest\n"
}

func describeStatus(w *facts) string {
	s, status := judgeInstance(w)
	text := describeConditions(s)
	if len(status.Addresses) > 0 {
		text += "addresses " + strings.Join(status.Addresses, " ") + "\n"
	}
	if status.ConfigHash != "" {
		text += "configuration " + status.ConfigHash + "\n"
	}
	return text
}

func describeConditions(s *conditionSet) (text string) {
	for _, of := range s.conditions {
		line := fmt.Sprintf("%s %s %s", of.Type, of.Status, of.Reason)
		if of.Message != "" {
			line += ": " + of.Message
		}
		text += line + "\n"
	}
	return text
}

func describeKeys(s *storyFacts) string {
	w := &keyFacts{namespace: "team", now: storyNow, accepted: s.hasKey("taken")}
	if !s.hasKey("none") {
		have := storyKeys(s.hasKey("next"), s.hasKey("former"))
		have.CreatedAt = storyNow.Add(-s.readDuration(s.readValue("made", "24h")))
		have.SteppedAt = storyNow.Add(-s.readDuration(s.readValue("stepped", "24h")))
		have.Algorithm = bind9.KeyHMACSHA256
		w.current = &have
	}
	w.wanted.Algorithm = bind9.KeyAlgorithm(s.readValue("algorithm", ""))
	if age := s.readValue("rotate-after", ""); age != "" {
		w.wanted.RotateAfter = &metav1.Duration{Duration: s.readDuration(age)}
	}
	if s.hasKey("held") {
		w.heldBy = storyClass()
	}
	step, again := nextKeyStep(w)
	keys, err := applyStep(w, step, strings.NewReader(strings.Repeat("random!!", 4)))
	if err != nil {
		return err.Error() + "\n"
	}
	text := string(step) + ": " + describeKey(keys.Name) + " signs"
	if keys.Next != nil {
		text += ", " + describeKey(keys.Next.Name) + " is next"
	}
	if keys.Former != nil {
		text += ", " + describeKey(keys.Former.Name) + " was before"
	}
	if keys.CreatedAt.Equal(storyNow) {
		text += ", made now"
	}
	if keys.SteppedAt.Equal(storyNow) {
		text += ", stepped now"
	}
	return text + "\n" + describeRest(again, nil)
}

// A generated key's name depends on the secret; primaries accept the name for a server of the namespace (S11.17).
func describeKey(name string) string {
	if namespace, ofServer := transferclass.NamespaceOfKey(tsig.Key{Name: name + "."}); ofServer && namespace == "team" {
		return "a new one"
	}
	return name
}

func describeTurn(s *storyFacts) string {
	w := &reservation{server: "ns1", upToDate: s.hasKey("same"), ready: !s.hasKey("late"), finished: !s.hasKey("changes")}
	for _, name := range s.listValues("others") {
		name, late := strings.CutSuffix(name, "!")
		w.others = append(w.others, otherServer{name, late})
	}
	next, waits := nextHolder(s.readValue("holder", ""), w)
	text := "is applied"
	if waits != "" {
		text = "waits: " + waits
	}
	if next == "" {
		next = "none"
	}
	return text + "\nin turn: " + next + "\n"
}

func describeLeaving(s *storyFacts) string {
	object := s.buildInstance()
	object.DeletionTimestamp = &metav1.Time{Time: storyNow.Add(-s.readDuration(s.readValue("age", "0s")))}
	var failure error
	if s.hasKey("fail") {
		failure = errors.New("the API does not answer")
	}
	reported, left := "", s.readCount("left")
	f := &Fleet{Config: Config{Clock: clocktesting.NewFakeClock(storyNow), Events: events.NewFakeRecorder(1)}}
	again, err := finishObject(s.t.Context(), f, finisher[*bind9.Bind9Instance]{
		object: object, covered: !s.hasKey("uncovered"), timeout: deletionLimit, childCount: s.readCount("children"),
		deleteChildren: func() error { reported += "delete the children\n"; return failure },
		removeObjects:  func() (int, error) { reported += "remove the objects\n"; return left, failure },
		patch: func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*bind9.Bind9Instance, error) {
			reported += "let it go\n"
			return object, nil
		},
	})
	if strings.HasSuffix(reported, "let it go\n") {
		return reported
	}
	return reported + describeRest(again, err)
}

func describeCluster(s *storyFacts) string {
	w := &clusterFacts{covered: !s.hasKey("uncovered"), cluster: &bind9.Bind9Cluster{}}
	for key, role := range map[string]**bind9.RoleSettings{"primary": &w.cluster.Spec.Primary, "secondary": &w.cluster.Spec.Secondary} {
		if n := s.readCount(key); n > 0 {
			*role = &bind9.RoleSettings{Replicas: int32(n)}
		}
	}
	if s.hasKey("signer") {
		w.cluster.Spec.DNSSEC = &bind9.ClusterDNSSEC{}
	}
	w.keys.TransferKeys = storyKeys(s.hasKey("rotates"), false)
	if s.hasKey("held") {
		w.keys.heldBy = storyClass()
	}
	if s.hasKey("fail") {
		w.err = errors.New("the API does not answer")
	}
	for line := range strings.SplitSeq(s.data.Input, "\n") {
		if words := strings.Fields(line); len(words) > 1 {
			one := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: words[0]}}
			one.Spec.Role = bind9.Role(words[1])
			if slices.Contains(words, "deleted") {
				one.DeletionTimestamp = &metav1.Time{Time: storyNow}
			}
			for _, word := range words[2:] {
				one.Status.Conditions = append(one.Status.Conditions, storyConditions[word]...)
			}
			w.instances = append(w.instances, one)
		}
	}
	existing, status := judgeCluster(w)
	text := describeConditions(existing)
	for _, of := range []struct {
		role  string
		count bind9.ServerCount
	}{{"primaries", status.Primaries}, {"secondaries", status.Secondaries}} {
		text += fmt.Sprintf("%s: %d asked for, %d there, %d ready\n", of.role, of.count.Desired, of.count.Current, of.count.Ready)
	}
	return text
}

var storyConditions = map[string][]metav1.Condition{
	"ready":   {{Type: bind9.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonReady}},
	"changes": {{Type: bind9.ConditionProgressing, Status: metav1.ConditionTrue, Reason: ReasonRollingOut}},
	"invalid": {{Type: bind9.ConditionConfigValid, Status: metav1.ConditionFalse, Reason: ReasonInvalid, Message: "no"}},
	"foreign": {{Type: bind9.ConditionDegraded, Status: metav1.ConditionTrue, Reason: ReasonForeign, Message: "not ours"}},
}

type storySweeper struct {
	sweeper
	began, now time.Time
}

func describeSweep(s *storyFacts, of *storySweeper) (text string) {
	if s.hasKey("begin") {
		*of = storySweeper{sweeper: sweeper{missingSince: map[orphan]time.Time{}}, began: storyNow, now: storyNow}
	}
	owners := map[orphan]bool{}
	for i := range s.readCount("owners") {
		owners[orphan{"dns", fmt.Sprintf("Bind9Instance/other-%d", i)}] = false
	}
	gone := s.listValues("gone")
	for _, name := range gone {
		owners[orphan{"dns", name}] = true
	}
	until := of.now.Add(s.readDuration(s.readValue("for", "0s")))
	for ; !of.now.After(until); of.now = of.now.Add(sweepInterval) {
		if ripe := of.nextSweep(owners, of.now); ripe != (orphan{}) {
			text += fmt.Sprintf("%s: remove what %s left\n", of.now.Sub(of.began), ripe.owner)
			delete(owners, ripe)
		}
	}
	return text
}
