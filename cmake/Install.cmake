# What `make install` (or DESTDIR=... cmake --install) puts where; units expect the programs in /usr/bin.
include(GNUInstallDirs)
install(TARGETS firebossd fireboss fireboss-engine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES units/firebossd.service units/fireboss-engine.service DESTINATION lib/systemd/system)
install(FILES units/fireboss.sysusers DESTINATION lib/sysusers.d RENAME fireboss.conf)
install(FILES units/fireboss.tmpfiles DESTINATION lib/tmpfiles.d RENAME fireboss.conf)
install(FILES units/fireboss.toml DESTINATION share/doc/fireboss/examples)
install(DIRECTORY engine/models/drill/ DESTINATION share/fireboss/drill)
