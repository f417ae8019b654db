// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	requireAll = "KUBIZONE_TEST_REQUIRE_ALL"
	startTime  = 2 * time.Minute
	pageTime   = time.Minute
)

// stage is kubizone up with its console.
type stage struct {
	// programs is the directory of the programs; dns is the address of the hidden primary.
	programs, dir, api, base, dns string
	client                        *http.Client
	options                       []chromedp.ExecAllocatorOption
}

var (
	staged   *stage
	stageErr error
)

var errNoBrowser = errors.New("no browser: install Debian's package chromium (hack/install-peers.sh does)")

func TestMain(m *testing.M) {
	code := 1
	func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var end func()
		staged, end, stageErr = setStage(ctx)
		defer end()
		code = m.Run()
	}()
	os.Exit(code)
}

// needStage skips the test without a browser.
func needStage(t testing.TB) *stage {
	t.Helper()
	if errors.Is(stageErr, errNoBrowser) && os.Getenv(requireAll) == "" {
		t.Skip(stageErr)
	}
	if stageErr != nil {
		t.Fatal(stageErr)
	}
	return staged
}

func setStage(ctx context.Context) (s *stage, end func(), err error) {
	var ends []func()
	end = func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, end, errNoBrowser
	}
	dir, err := os.MkdirTemp("", "console-")
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, func() { _ = os.RemoveAll(dir) })
	s = &stage{dir: dir}
	if s.programs, err = buildPrograms(ctx, dir); err != nil {
		return nil, end, err
	}
	stop, err := s.startUp(ctx, "../../artifacts/examples", "testdata/stage")
	ends = append(ends, stop)
	if err != nil {
		return nil, end, err
	}
	return s, end, s.prepareBrowser(chromium)
}

// setAnother starts another kubizone up, for a test alone, with the files of the Secrets in namespace dns.
func (s *stage) setAnother(t testing.TB, secrets map[string]string, loads ...string) *stage {
	t.Helper()
	other := &stage{programs: s.programs, options: s.options, dir: t.TempDir()}
	for name, text := range secrets {
		writeFile(t, filepath.Join(other.dir, "secrets", "dns", name), text)
	}
	stop, err := other.startUp(context.Background(), loads...)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// buildPrograms returns a directory with kubizone and its client, side by side. In the shared directory it locks out
// other packages, as test/rig does.
func buildPrograms(ctx context.Context, dir string) (string, error) {
	if shared := os.Getenv("KUBIZONE_BIN"); shared != "" {
		dir = shared
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	for _, name := range []string{"kubizone", "kubectl-kubizone"} {
		program := filepath.Join(dir, name)
		if _, err := os.Stat(program); err == nil {
			continue
		}
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", program+".new", "./cmd/"+name)
		build.Dir = "../.."
		build.Env = append(os.Environ(), "GOWORK=", "CGO_ENABLED=0",
			"GOFLAGS=-mod=vendor -buildvcs=false -trimpath -gcflags=all=-dwarf=false")
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		if err := os.Rename(program+".new", program); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func (s *stage) startUp(ctx context.Context, loads ...string) (stop func(), err error) {
	secret := filepath.Join(s.dir, "secrets", "dns", "transfer")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		return func() {}, err
	}
	for name, value := range map[string]string{"name": "transfer.example.", "algorithm": "hmac-sha256",
		"secret": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))} {
		if err := os.WriteFile(filepath.Join(secret, name), []byte(value), 0o600); err != nil {
			return func() {}, err
		}
	}
	data := filepath.Join(s.dir, "data")
	up := exec.CommandContext(ctx, filepath.Join(s.programs, "kubizone"), "up", "--data-dir", data, "--listen", "127.0.0.1:0",
		"--dns-listen", "127.0.0.1:0", "--secrets-dir", filepath.Join(s.dir, "secrets"))
	for _, path := range loads {
		up.Args = append(up.Args, "--load", path)
	}
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	up.WaitDelay = 20 * time.Second
	out, err := up.StdoutPipe()
	if err != nil {
		return func() {}, err
	}
	up.Stderr = up.Stdout
	if err := up.Start(); err != nil {
		return func() {}, err
	}
	var mu sync.Mutex
	var all strings.Builder
	output := func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			mu.Lock()
			all.WriteString(lines.Text() + "\n")
			mu.Unlock()
		}
	}()
	stop = func() {
		_ = up.Process.Signal(os.Interrupt)
		_ = up.Wait()
	}
	console, dns := regexp.MustCompile(`url=(http://\S+)/open\?`), regexp.MustCompile(`ready: API on \S+, DNS on (\S+) `)
	for began := time.Now(); time.Since(began) < startTime; time.Sleep(50 * time.Millisecond) {
		opens, _ := os.ReadFile(filepath.Join(data, "console.html")) // absent before the console
		at, ready := console.FindSubmatch(opens), dns.FindStringSubmatch(output())
		if ready != nil && at != nil {
			s.base, s.dns = string(at[1]), ready[1]
			return stop, s.connectClient(filepath.Join(data, "kubeconfig"))
		}
	}
	return stop, fmt.Errorf("kubizone up is not ready with its console:\n%s", output())
}

func (s *stage) connectClient(kubeconfig string) error {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	field := func(name string) []byte {
		found := regexp.MustCompile(name + `:\s*"?([^"\s]+)`).FindSubmatch(text)
		if found == nil {
			err = fmt.Errorf("the kubeconfig has no %s", name)
			return nil
		}
		return found[1]
	}
	decode := func(name string) []byte {
		octets, wrong := base64.StdEncoding.DecodeString(string(field(name)))
		err = errors.Join(err, wrong)
		return octets
	}
	s.api = string(field("server"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decode("certificate-authority-data"))
	pair, wrong := tls.X509KeyPair(decode("client-certificate-data"), decode("client-key-data"))
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
	return errors.Join(err, wrong)
}

// prepareBrowser has Chromium use the fonts of published alone.
func (s *stage) prepareBrowser(chromium string) error {
	fonts, err := filepath.Abs("published")
	if err != nil {
		return err
	}
	config := filepath.Join(s.dir, "fonts.conf")
	if err := os.WriteFile(config, []byte(`<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>`+fonts+
		`</dir><cachedir>`+filepath.Join(s.dir, "fontcache")+`</cachedir></fontconfig>`), 0o600); err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.Env("FONTCONFIG_FILE="+config), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-lcd-text", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.WindowSize(1280, 800))
	s.options = options
	return nil
}

// tab is a window of a person: its own cookies, and the complaints of its pages.
type tab struct {
	context.Context
	t          testing.TB
	stage      *stage
	mu         sync.Mutex
	complaints []string
	dialogs    int
}

// newTab returns a window that has opened the file of the console.
func (s *stage) newTab(t testing.TB) *tab {
	t.Helper()
	allocator, end := chromedp.NewExecAllocator(context.Background(), s.options...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t, stage: s}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				b.complaints = append(b.complaints, fmt.Sprint("console: ", e.Args))
			}
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, "exception: "+e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !strings.HasSuffix(e.Entry.URL, "/favicon.ico") {
				b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
			}
		case *page.EventJavascriptDialogOpening:
			b.dialogs++
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(false)) }()
		}
	})
	b.runActions(log.Enable())
	b.runActions(chromedp.Navigate("file://"+filepath.Join(s.dir, "data", "console.html")), chromedp.WaitVisible("nav a[aria-current]"))
	return b
}

// runActions fails the test if an action fails or takes too long.
func (b *tab) runActions(actions ...chromedp.Action) {
	b.t.Helper()
	if chromedp.FromContext(b).Target == nil { // the first run makes the window, which ends with its context
		if err := chromedp.Run(b.Context); err != nil {
			b.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(b, pageTime)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text, at string
		_ = chromedp.Run(b, chromedp.Location(&at), chromedp.Text("body", &text, chromedp.ByQuery))
		b.t.Fatalf("%v at %s:\n%.2000s", err, at, text)
	}
}

func (b *tab) visitPage(path string) {
	b.t.Helper()
	b.runActions(chromedp.Navigate(b.stage.base+path), chromedp.WaitReady("main"))
}

// readText returns the text of the first element.
func (b *tab) readText(selector string) (text string) {
	b.t.Helper()
	// The stream may replace an element while chromedp reads it.
	b.runActions(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector), &text))
	return text
}

func (b *tab) expectText(selector string, texts ...string) {
	b.t.Helper()
	b.waitFor(fmt.Sprintf("%s has %q", selector, texts), func() bool {
		text := b.readText(selector)
		for _, one := range texts {
			if !strings.Contains(text, one) {
				return false
			}
		}
		return true
	})
}

func (b *tab) waitFor(what string, is func() bool) time.Duration {
	b.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > pageTime {
			b.t.Fatalf("not so after %s: %s:\n%.3000s", pageTime, what, b.readText("body"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// expectPeace fails the test for errors of scripts and refused content.
func (b *tab) expectPeace() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 || b.dialogs > 0 {
		b.t.Errorf("%d dialogs, complaints:\n%s", b.dialogs, strings.Join(b.complaints, "\n"))
	}
	b.complaints = nil
}

func (s *stage) writeObject(t testing.TB, method, path, body string) {
	t.Helper()
	if !strings.HasPrefix(path, "/apis/") {
		path = "/apis/kubi.zone/v1alpha1" + path
	}
	request, err := http.NewRequest(method, s.api+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s\n%s", method, path, response.Status, text)
	}
}
