// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

// logOf captures the log from now on, each line once.
func logOf(t *testing.T) *bytes.Buffer {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	must.Succeed(t, flags.Set("one_output", "true"))
	log := &bytes.Buffer{}
	klog.LogToStderr(false)
	klog.SetOutput(log)
	t.Cleanup(func() { klog.SetOutput(bytes.NewBuffer(nil)); klog.LogToStderr(true) })
	return log
}

// A provider says in its own words or by a code why it refuses an RRset. These may contain internal addresses, so they
// go into the log, once for each text, and never into conditions of the Record or the Delivery, which tenants read
// (S6.17).
func TestObserve_logsWhatTheProviderSays_S6_17(t *testing.T) {
	log := logOf(t)
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "u"}}
	client := fake.NewClientset(zone)
	c := newController(t, client)
	must.Succeed(t, c.index.Zones.GetStore().Add(zone))
	refused := func(message string) delivery.Event {
		e := &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "the server refuses the record", Detail: message}
		state := makeBegunState()
		state.Error, state.Ready = &delivery.StateError{Reason: e.Reason, Message: e.Message}, delivery.Condition{Status: delivery.False, Reason: e.Reason, Message: e.Message}
		return delivery.Event{
			Key: delivery.Key{UID: "u", Class: "main"}, Outcome: delivery.OutcomeDelivered, State: state,
			Failed: []delivery.Failure{{Name: name.MustParse("www.example.org."), Type: rdata.A, Err: e}},
		}
	}
	wordless := refused("")
	wordless.Failed[0].Err = &delivery.Error{Reason: delivery.ReasonValidationFailed, Code: "NOTAUTH", Message: "its log says why"}
	c.Observe(wordless)
	c.Observe(wordless)
	for _, message := range []string{"zone 7 is locked", "zone 7 is locked", "zone 8 is locked"} {
		c.Observe(refused(message))
	}
	klog.Flush()
	text := log.String()
	if strings.Count(text, "NOTAUTH") != 1 || !strings.Contains(text, "its log says why") {
		t.Errorf("without words:\n%s", text)
	}
	if strings.Count(text, "zone 7 is locked") != 1 || strings.Count(text, "zone 8 is locked") != 1 || !strings.Contains(text, "www.example.org. A") || text[0] != 'E' {
		t.Errorf("the log:\n%s", text)
	}
	event := refused("zone 8 is locked")
	event.State.Refused = event.Failed
	status := must.Get(json.Marshal(objects.StatusFor("main", event.State, nil)))(t)
	if text := string(status); strings.Contains(text, "locked") || !strings.Contains(text, "the server refuses the record") {
		t.Errorf("the Delivery says %s", text)
	}
}

// If a class fails, the status refers to the log for the words of the provider. So these are logged as an error, which
// no verbosity hides, once for each failure.
func TestStore_logsWhyAClassFails(t *testing.T) {
	log := logOf(t)
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "u"}}
	s := &store{lastSeen: make(map[delivery.Key]observed)}
	key := delivery.Key{UID: "u", Class: "main"}
	failed := func(message string) *delivery.State {
		return &delivery.State{Error: &delivery.StateError{Reason: delivery.ReasonServerError, Message: message, Detail: "disk 7 is full"},
			Ready: delivery.Condition{Status: delivery.False}}
	}
	trying := &delivery.State{Ready: delivery.Condition{Status: delivery.Unknown}}
	read := failed(objects.PublicMessage("main", delivery.ReasonServerError, ""))
	read.Error.Stored = true
	for _, state := range []*delivery.State{failed("rndc: connection refused"), read, trying, failed("rndc: connection refused")} {
		s.logFailure(key, zone, state)
	}
	klog.Flush()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 || lines[0][0] != 'E' || !strings.Contains(lines[0], "rndc: connection refused") ||
		!strings.Contains(lines[0], "disk 7 is full") {
		t.Errorf("the log:\n%s", log.String())
	}
}
