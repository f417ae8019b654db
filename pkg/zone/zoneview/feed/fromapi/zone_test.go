// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// largeZone returns an answer of zones/entries whose proof takes tenths of a second.
func largeZone(t *testing.T, uid string) (answer []byte, zone *v1alpha1.Zone) {
	t.Helper()
	set := content.RRset{Owner: name.MustRel("www"), Type: rdata.TXT, TTL: content.InheritTTL()}
	for i := range 20000 {
		set.Data = append(set.Data, fmt.Sprintf(`"%05d"`, i))
	}
	state := must.Get(sethash.State{}.Update(nil, set.Elements(nil)))(t)
	header := content.Header{FQDN: name.MustParse("example.org."), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
	snapshot := zoneview.NewSnapshot(zoneview.Zone{}, header, 100, 1, state, func(func(content.RRset) bool) {})
	rrset := map[string]any{"owner": set.Owner, "type": set.Type, "ttl": set.TTL, "data": set.Data}
	answer = must.Get(json.Marshal(struct {
		Metadata          any            `json:"metadata"`
		ContentGeneration uint64         `json:"contentGeneration"`
		Serial            uint32         `json:"serial"`
		Hash              string         `json:"hash"`
		ContentState      sethash.State  `json:"contentState"`
		Header            content.Header `json:"header"`
		RRsets            []any          `json:"rrsets"`
	}{map[string]any{"uid": uid}, 1, 100, snapshot.Hash(), state, header, []any{rrset}}))(t)
	zone = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "org", UID: "1"}}
	zone.Status.FQDN, zone.Status.Serial, zone.Status.SettledSerial, zone.Status.Hash = "example.org.", 100, 100, snapshot.Hash()
	return answer, zone
}

// A zone that is deleted while its content is read and verified must not enter the Set, because another zone may have
// its name by then.
func TestSource_aZoneThatGoesWhileItIsProvenIsNotPutIn(t *testing.T) {
	answer, zone := largeZone(t, "1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	defer server.Close()
	client := must.Get(versioned.NewForConfig(&rest.Config{Host: server.URL}))(t)
	zones := externalversions.NewSharedInformerFactory(client, 0).Kubizone().V1alpha1().Zones()
	must.Succeed(t, zones.Informer().GetIndexer().Add(zone))
	asked, goes := 0, true
	source, err := New(Config{Client: client.KubizoneV1alpha1().RESTClient(), Zones: zones, Set: zoneview.NewSet(zoneview.Config{}),
		// Interest is called before the read and before the proof.
		Interest: func(*v1alpha1.Zone) bool { asked++; return asked < 3 || !goes }})
	if err != nil {
		t.Fatal(err)
	}
	source.catchUpInterval = time.Millisecond
	if err := source.updateZone(t.Context(), cache.NewObjectName("a", "org")); err != nil || asked != 3 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
	if _, ok := source.Set.Settled("1"); ok {
		t.Error("the zone is in the Set")
	}
	goes = false
	must.Succeed(t, source.updateZone(t.Context(), cache.NewObjectName("a", "org")))
	if _, ok := source.Set.Settled("1"); !ok {
		t.Error("a zone that stays is not in the Set")
	}
}
