// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/test/must"
)

// The status follows the server's answer, and a former or deleted object's name leaves the zone.
func TestReconcile_reportsTheAnswer(t *testing.T) {
	var did []string
	rcode := mdns.RcodeSuccess
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	const secret = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="
	dns := &mdns.Server{PacketConn: conn, TsigSecret: map[string]string{"k.": secret},
		MsgAcceptFunc: func(mdns.Header) mdns.MsgAcceptAction { return mdns.MsgAccept },
		Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, m *mdns.Msg) {
			if w.TsigStatus() != nil || m.IsTsig() == nil {
				t.Errorf("not signed: %v", w.TsigStatus())
			}
			for _, rr := range m.Ns {
				if a, ok := rr.(*mdns.A); ok {
					did = append(did, "add "+a.Hdr.Name+" "+a.A.String())
				} else {
					did = append(did, "remove "+rr.Header().Name)
				}
			}
			answer := new(mdns.Msg).SetRcode(m, rcode)
			answer.SetTsig("k.", mdns.HmacSHA256, 300, int64(m.IsTsig().TimeSigned))
			_ = w.WriteMsg(answer)
		})}
	go func() { _ = dns.ActivateAndServe() }()
	defer dns.Shutdown()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body := string(must.Get(io.ReadAll(q.Body))(t))
		if !strings.Contains(body, `"type":"Ready","status":"True"`) {
			t.Errorf("status %s", body)
		}
		did = append(did, q.Method+" "+q.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"minimal.example/v1","kind":"Record"}`)
	}))
	defer api.Close()
	c := must.Get(newController(&rest.Config{Host: api.URL}, conn.LocalAddr().String(), "example.", "k.", secret))(t)
	c.store = cache.NewStore(cache.MetaNamespaceKeyFunc)
	step := func(name string, record *Record, failed bool, want ...string) {
		t.Helper()
		did = nil
		if record != nil {
			must.Succeed(t, c.store.Add(record))
		}
		if err := c.reconcileKey(t.Context(), "n/o"); (err != nil) != failed || !slices.Equal(did, want) {
			t.Errorf("%s: %q and %v, want %q", name, did, err, want)
		}
	}
	makeRecord := func(name string, generation, observed int64) *Record {
		return &Record{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o", Generation: generation},
			Spec:   RecordSpec{Name: name, Type: "A", TTL: 60, Values: []string{"192.0.2.1"}},
			Status: RecordStatus{ObservedGeneration: observed}}
	}
	const patched = "PATCH /apis/minimal.example/v1/namespaces/n/records/o/status"
	rcode = mdns.RcodeRefused
	step("refused", makeRecord("a.example.", 1, 0), true, "remove a.example.", "add a.example. 192.0.2.1")
	rcode = mdns.RcodeSuccess
	step("written", makeRecord("a.example.", 1, 0), false, "remove a.example.", "add a.example. 192.0.2.1", patched)
	step("its own status", makeRecord("a.example.", 1, 1), false)
	step("renamed", makeRecord("b.example.", 2, 1), false, "remove a.example.", "remove b.example.", "add b.example. 192.0.2.1", patched)
	must.Succeed(t, c.store.Delete(makeRecord("b.example.", 2, 2)))
	step("deleted", nil, false, "remove b.example.")
	step("gone", nil, false)
}
