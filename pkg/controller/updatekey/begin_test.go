// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/must"
)

// slowSecrets answer after their release.
type slowSecrets struct{ asked, released chan struct{} }

func (s slowSecrets) Get(ctx context.Context, _, _ string) (map[string][]byte, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	select {
	case <-s.released:
	case <-ctx.Done():
	}
	return map[string][]byte{"name": []byte("k."), "algorithm": []byte("hmac-sha256"),
		"secret": []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")}, ctx.Err()
}

// A primary that starts has to know the update keys before it answers: the answer NOTAUTH for a key that it has not
// read yet would be final for the client. So the controller is in sync only when the keys are served.
func TestController_isInSyncOnceTheKeysAreServed(t *testing.T) {
	client := fake.NewSimpleClientset()
	must.Get(client.KubizoneV1alpha1().UpdateKeys("team").Create(t.Context(), &v1alpha1.UpdateKey{
		ObjectMeta: metav1.ObjectMeta{Name: "k", UID: "1"},
		Spec:       v1alpha1.UpdateKeySpec{TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: "k"}},
	}, metav1.CreateOptions{}))(t)
	dns := must.Get(primary.New(primary.Config{Zones: zoneview.NewSet(zoneview.Config{}), Updates: &Poster{},
		Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	defer dns.Close()
	secrets := slowSecrets{make(chan struct{}, 1), make(chan struct{})}
	informers := externalversions.NewSharedInformerFactory(client, 0)
	c := must.Get(New(Config{Primary: dns, Poster: &Poster{}, Keys: informers.Kubizone().V1alpha1().UpdateKeys(), Client: client,
		Secrets: secrets, WaitFirst: func(context.Context) error { return nil }}))(t)
	informers.Start(t.Context().Done())
	go c.Run(t.Context())
	<-secrets.asked
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if c.WaitForSync(soon) == nil {
		t.Error("in sync before the Secret of the key was read")
	}
	close(secrets.released)
	must.Succeed(t, c.WaitForSync(t.Context()))
	served := must.Get(client.KubizoneV1alpha1().UpdateKeys("team").Get(t.Context(), "k", metav1.GetOptions{}))(t)
	if served.Status.KeyName != "k." {
		t.Errorf("in sync, and its status is %+v", served.Status)
	}
}
