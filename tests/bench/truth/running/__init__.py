"""The programs as processes: real clients and a real model, recorded through the gateway, forked and run again."""
