// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// describeReady returns status and reason of each Record's Ready, by name.
func (s *server) describeReady(t *testing.T, names ...string) (text string) {
	t.Helper()
	for _, object := range names {
		record := must.Get(s.KubizoneV1alpha1().Records("team").Get(t.Context(), object, metav1.GetOptions{}))(t)
		of := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
		text += fmt.Sprintf("%s %s %s; ", object, of.Status, of.Reason)
	}
	return text
}

// S6.13: a BIND from an old disk answers old values. After seconds the Records changed since are not Ready, and no
// others, though another zone was compared last; they are Ready when BIND has the values again.
func TestRecordsAreNotReadyWhileAServerAnswersOldValues_S6_13(t *testing.T) {
	t.Parallel() // mostly waits
	ctx := rig.Within(t, 4*time.Minute)
	s := startServer(t)
	at := must.Get(rig.FreePort())(t)
	s.makeClass(t, "red", v1alpha1.TransferProvider{TSIGSecretRef: s.keepKey(t, "red", red), Secondaries: listSecondaries(at)})
	s.makeZone(t, "org", "example.org.", "red")
	s.makeZone(t, "net", "example.net.", "red")
	for object, zone := range map[string]string{"early": "org", "late": "org", "other": "net"} {
		s.makeRecord(t, object, object+".example."+zone+".", "first")
	}
	secondaries := []rig.SecondaryZone{{Zone: "example.org.", Primary: s.dns, Key: red.Name},
		{Zone: "example.net.", Primary: s.dns, Key: red.Name}}
	bind := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Addr: at, Keys: []rig.TSIGKey{red}, Secondaries: secondaries}))(t)
	for _, object := range []string{"early", "late", "other"} {
		s.waitForReady(t, object)
	}
	bind.Stop()
	disk := must.Get(os.ReadFile(bind.ZoneFile("example.org.")))(t)
	must.Succeed(t, bind.Start(ctx))
	s.changeRecord(t, "late", "second")
	s.waitForReady(t, "late")
	request := time.Now().Format(time.RFC3339Nano)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationVerifyRequestedAt, request)
	must.Get(s.KubizoneV1alpha1().Zones("team").Patch(ctx, "net", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	waitUntil(t, func() (bool, string) {
		text := s.describeDeliveries(t)
		return strings.Contains(text, "LastVerifyRequest:"+request), text
	})

	setPrimary := func(from, to string) {
		t.Helper()
		file := filepath.Join(bind.Dir(), "named.conf")
		conf := must.Get(os.ReadFile(file))(t)
		must.Succeed(t, os.WriteFile(file, bytes.ReplaceAll(conf, []byte(from), []byte(to)), 0o600))
	}
	primary := fmt.Sprintf(" port %d key", s.dns.Port())
	bind.Stop()
	for _, journal := range must.Get(filepath.Glob(filepath.Join(bind.Dir(), "*.jnl")))(t) {
		must.Succeed(t, os.Remove(journal))
	}
	must.Succeed(t, os.WriteFile(bind.ZoneFile("example.org."), disk, 0o600))
	setPrimary(primary, " port 1 key")
	must.Succeed(t, bind.Start(ctx))
	begun := time.Now()
	if text, _, err := readTXT(bind.Addr, "late.example.org."); err != nil || text != "first" {
		t.Fatalf("BIND answers %q, %v", text, err)
	}
	waitUntil(t, func() (bool, string) {
		text := s.describeReady(t, "early", "late", "other")
		return strings.Contains(text, "late Unknown ServerWentBack"), text + s.describeDeliveries(t)
	})
	elapsed := time.Since(begun)
	t.Logf("Ready is taken back after %s", elapsed.Round(10*time.Millisecond))
	if elapsed > 20*time.Second { // 5 s, and a loaded machine
		t.Errorf("taken back after %s", elapsed)
	}
	const want = "early True Delivered; late Unknown ServerWentBack; other True Delivered; "
	if text := s.describeReady(t, "early", "late", "other"); text != want {
		t.Error(text)
	}

	bind.Stop()
	setPrimary(" port 1 key", primary)
	must.Succeed(t, bind.Start(ctx))
	s.waitForReady(t, "late")
	if text, _, err := readTXT(bind.Addr, "late.example.org."); err != nil || text != "second" {
		t.Errorf("Ready, and BIND answers %q, %v", text, err)
	}
}
