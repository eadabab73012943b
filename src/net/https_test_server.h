// HttpsTestServer: a TLS server on a free local port that answers each request with the bytes a test gives, whole or
// not. Its self-signed certificate is made when it starts; trust() makes this process believe it. For tests of clients.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/temporary_folder.h"

namespace brio::net {

class HttpsTestServer {
 public:
  // Gets a request's head, returns the answer's raw bytes; the connection is then closed. kSilence: no answer at all.
  using Handler = std::function<std::string(const std::string& request)>;
  static constexpr std::string_view kSilence = "(silence)";

  // `names` is the certificate's subjectAltName.
  explicit HttpsTestServer(Handler handler, const std::string& names = "DNS:localhost,IP:127.0.0.1")
      : handler_(std::move(handler)), context_(SSL_CTX_new(TLS_server_method())) {
    make_certificate(names);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BRIO_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    BRIO_CHECK(::listen(listener_, 16) == 0);
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpsTestServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  HttpsTestServer(const HttpsTestServer&) = delete;
  HttpsTestServer& operator=(const HttpsTestServer&) = delete;

  int port() const { return port_; }
  std::string url(std::string_view target, std::string_view host = "localhost") const {
    return fmt::format("https://{}:{}{}", host, port_, target);
  }
  // Only one server at a time can be trusted: OpenSSL reads one file.
  void trust() const { ::setenv("SSL_CERT_FILE", certificate_path().c_str(), 1); }
  std::string certificate_path() const { return (folder_ / "certificate.pem").string(); }
  // The heads of all requests so far.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  static std::string answer(std::string_view body, std::string_view status = "200 OK",
                            std::string_view extra_headers = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), extra_headers, body);
  }

 private:
  void make_certificate(const std::string& names) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("brio test"), -1, -1,
                               0);
    X509_set_issuer_name(certificate, subject);
    for (const auto& [id, value] :
         {std::pair{NID_subject_alt_name, names}, {NID_basic_constraints, std::string("CA:TRUE")}}) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
      X509_add_ext(certificate, extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(certificate, key, EVP_sha256());
    FILE* file = std::fopen(certificate_path().c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    BRIO_CHECK(SSL_CTX_use_certificate(context_, certificate) == 1 && SSL_CTX_use_PrivateKey(context_, key) == 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

  void serve() {
    while (!stop_) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      const timeval deadline{10, 0};
      setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
      SSL* tls = SSL_new(context_);
      SSL_set_fd(tls, socket);
      if (SSL_accept(tls) == 1) talk(tls);
      SSL_free(tls);
      ::close(socket);
    }
  }

  void talk(SSL* tls) {
    std::string request;
    char bytes[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const int got = SSL_read(tls, bytes, sizeof bytes);
      if (got <= 0) return;
      request.append(bytes, static_cast<size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = handler_(request);
    if (answer == kSilence) {
      SSL_read(tls, bytes, sizeof bytes);  // until the client gives up
      return;
    }
    SSL_write(tls, answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(tls);
  }

  Handler handler_;
  SSL_CTX* context_;
  TemporaryFolder folder_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace brio::net
