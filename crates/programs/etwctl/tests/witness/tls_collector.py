"""A collector with TLS, by Python and OpenSSL. Prints its port, and the path and the members of each request."""

import http.server
import json
import ssl


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(self.path, *request, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Server(http.server.HTTPServer):
    def handle_error(self, request, address):
        pass  # A client that does not trust the certificate.


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem", "server.key")
server = Server(("127.0.0.1", 0), Collector)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
