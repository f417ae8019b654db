// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rndc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func keyOf(algorithm, secret string) Key {
	hashes := map[string]func() hash.Hash{"hmac-sha256": sha256.New, "hmac-sha384": sha512.New384, "hmac-sha512": sha512.New}
	return Key{Algorithm: algorithm, MAC: func(parts ...[]byte) []byte {
		sum := hmac.New(hashes[algorithm], []byte(secret))
		for _, part := range parts {
			sum.Write(part)
		}
		return sum.Sum(nil)
	}}
}

const testSecret = "rig-control-on-loopback-only-001"

var testKey = keyOf("hmac-sha256", testSecret)

func fixKeys(keys ...Key) func() ([]Key, error) { return func() ([]Key, error) { return keys, nil } }

// named answers and refuses, with each algorithm.
func TestCall_controlsNamed(t *testing.T) {
	for _, algorithm := range []string{"hmac-sha256", "hmac-sha384", "hmac-sha512"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			control := must.Get(rig.FreePort())(t)
			rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Controls: []rig.Control{{Addr: control, Key: rig.TSIGKey{
				Name: "agent", Algorithm: algorithm, Secret: "cmlnLWNvbnRyb2wtb24tbG9vcGJhY2stb25seS0wMDE=",
			}}}, Options: "allow-new-zones yes;"}))(t)
			client := &Client{Address: control.String(), Keys: fixKeys(keyOf(algorithm, testSecret))}
			text, err := client.Call(t.Context(), "status")
			if err != nil || !strings.Contains(text, "server is up and running") {
				t.Errorf("status: %q, %v", text, err)
			}
			_, err = client.Call(t.Context(), `zonestatus "nope.example"`)
			var failure *Failure
			if !errors.As(err, &failure) || failure.Err != "not found" || failure.Command != "zonestatus" || !strings.Contains(failure.Text, "nope.example") {
				t.Errorf("a zone that named has not: %v", err)
			}
			client.Keys = fixKeys(keyOf(algorithm, "another"))
			if _, err = client.Call(t.Context(), "status"); err == nil || !strings.Contains(err.Error(), "not accept the agent's key") {
				t.Errorf("another key: %v", err)
			}
			client.Keys = fixKeys(keyOf(algorithm, "another"), keyOf(algorithm, testSecret))
			if text, err := client.Call(t.Context(), "status"); err != nil || !strings.Contains(text, "server is up") {
				t.Errorf("the second of two keys: %q, %v", text, err)
			}
			if _, err := client.Call(t.Context(), strings.Repeat("x", MaxCommand+1)); err == nil || !strings.Contains(err.Error(), "fewer") {
				t.Errorf("a long command: %v", err)
			}
		})
	}
}

func startFakeServer(t *testing.T, reply func(question table, n int) []byte) *Client {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for n := 0; ; n++ {
					message, err := readMessage(conn)
					if err != nil {
						return
					}
					question, err := testKey.verifyMessage(message)
					if err != nil {
						t.Error(err)
						return
					}
					answer := reply(question, n)
					if answer == nil {
						_, _ = io.Copy(io.Discard, conn)
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return &Client{Address: listener.Addr().String(), Keys: fixKeys(testKey), Timeout: 5 * time.Second}
}

func answerAsNamed(question table, data table) table {
	serial, _ := question.find("_ctrl").text("_ser")
	return table{{"_ctrl", table{{"_ser", []byte(serial)}, {"_rpl", []byte("1")}, {"_nonce", []byte("4711")}}}, {"_data", data}}
}

// A message from another sender is no answer (R2, R3).
func TestCall_believesOnlyTheAnswer(t *testing.T) {
	yes := table{{"result", []byte("0")}, {"text", []byte("done")}}
	for name, tc := range map[string]struct {
		reply func(question table, n int) []byte
		want  string // in the error; empty: none
	}{
		"named's": {func(q table, _ int) []byte { return testKey.sign(answerAsNamed(q, yes)) }, ""},
		"another key's": {func(q table, _ int) []byte {
			return keyOf("hmac-sha256", "other").sign(answerAsNamed(q, yes))
		}, "not signed with the agent's key"},
		"changed": {func(q table, _ int) []byte {
			wire := testKey.sign(answerAsNamed(q, yes))
			wire[len(wire)-1] ^= 1
			return wire
		}, "not signed with the agent's key"},
		"without a signature": {func(q table, _ int) []byte {
			wire := binary.BigEndian.AppendUint32(nil, version)
			wire = appendTable(wire, answerAsNamed(q, yes))
			return append(binary.BigEndian.AppendUint32(nil, uint32(len(wire))), wire...)
		}, "not signed with the agent's key"},
		"of another serial": {func(q table, n int) []byte {
			a := answerAsNamed(q, yes)
			if n == 1 {
				a[0].value.(table)[0].value = []byte("1")
			}
			return testKey.sign(a)
		}, "another question"},
		"of another nonce": {func(q table, n int) []byte {
			a := answerAsNamed(q, yes)
			if n == 1 {
				a[0].value.(table)[2].value = []byte("1")
			}
			return testKey.sign(a)
		}, "another question"},
		"a question": {func(q table, _ int) []byte { return testKey.sign(q) }, "another question"},
		"too long":   {func(table, int) []byte { return []byte{0xff, 0xff, 0xff, 0xff, 0} }, "octets"},
		"cut":        {func(q table, _ int) []byte { return append([]byte{0, 0, 0, 9}, 0, 0, 0, 1, 5, '_', 'a', 'u', 't') }, "not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := startFakeServer(t, tc.reply).Call(t.Context(), "status")
			if tc.want == "" && (err != nil || text != "done") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// A command to a server that does not answer ends at the client's Timeout or with the context, whichever comes first
// (R3).
func TestCall_endsInTime(t *testing.T) {
	client := startFakeServer(t, func(table, int) []byte { return nil })
	client.Timeout = 50 * time.Millisecond
	if _, err := client.Call(t.Context(), "status"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("timeout: %v", err)
	}
	client.Timeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Call(ctx, "status"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A parsed message encodes to the same octets (R3).
func FuzzMessage(f *testing.F) {
	f.Add(appendTable(nil, table{{"_ctrl", table{{"_ser", []byte("1")}}}, {"t", table{{"t", table{}}}}}))
	f.Add([]byte{0, 2, 0, 0, 0, 0})
	f.Add([]byte{0, 3, 0, 0, 0, 5, 3, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, wire []byte) {
		parsed, err := parseTable(wire, 0)
		if err != nil {
			return
		}
		again, err := parseTable(appendTable(nil, parsed), 0)
		if err != nil || !reflect.DeepEqual(parsed, again) {
			t.Errorf("%v was read as %v: %v", parsed, again, err)
		}
		if _, err := testKey.verifyMessage(append([]byte{0, 0, 0, 1}, wire...)); err == nil {
			t.Error("a message that the key did not sign was believed")
		}
	})
}

// Deep nesting is refused before stack is used.
func TestParse_boundsNesting(t *testing.T) {
	var wire []byte
	for range 1000 {
		wire = append(binary.BigEndian.AppendUint32([]byte{1, 't', typeTable}, uint32(len(wire))), wire...)
	}
	if _, err := parseTable(wire, 0); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("%v", err)
	}
}
